// Events as CORBA's event service has them: a supplier pushes an `any` to a consumer in another process. The supplier calls
// the consumer directly, without the process of an event channel between the two. After `events.h`, and the stubs of
// `events.idl`.
#include <COS/CosEventComm.hh>
#include <condition_variable>
#include <mutex>
#include <unistd.h>

static CosEventComm::PushConsumer_var consumer;
static std::mutex lock;
static std::condition_variable changed;
static bool far, full, ended;
static struct event came;

static int post(const struct event *event) {
    try {
        Event *copy = new Event;
        copy->step = event->step, copy->mode = event->mode;
        copy->values.length(event->count);
        if (event->count) memcpy(copy->values.get_buffer(), event->values, event->count * sizeof(float));
        CORBA::Any any;
        any <<= copy;
        consumer->push(any);
        return 0;
    } catch (...) {
        return 1;
    }
}

static int next(struct event *event) {
    std::unique_lock<std::mutex> locked(lock);
    changed.wait(locked, [] { return full; });
    full = false, *event = came;
    return 0;
}

class Consumer : public POA_CosEventComm::PushConsumer {
    void push(const CORBA::Any &any) override {
        const Event *event;
        if (!(any >>= event)) throw CORBA::BAD_PARAM();
        struct event taken = {(uint32_t)event->step, (uint32_t)event->mode, (uint32_t)event->values.length(), const_cast<float *>(event->values.get_buffer())};
        int done = far ? handle(&taken) : 0;
        std::lock_guard<std::mutex> locked(lock);
        if (far) ended = ended || done != 0;
        else came = taken, full = true;
        changed.notify_one();
        if (done > 1) throw CORBA::INTERNAL();
    }
    void disconnect_push_consumer() override {}
};

static void tell_reference(int to, CORBA::ORB_ptr orb, CORBA::Object_ptr object) {
    CORBA::String_var text = orb->object_to_string(object);
    uint32_t size = strlen(text) + 1;
    if (write(to, &size, sizeof size) < 0 || write(to, text, size) < 0) _exit(1);
}

static void learn_reference(int from, CORBA::ORB_ptr orb) {
    static char text[65536];
    uint32_t size = 0;
    if (read(from, &size, sizeof size) != sizeof size || size > sizeof text) _exit(1);
    for (uint32_t got = 0; got < size;) {
        ssize_t part = read(from, text + got, size - got);
        if (part <= 0) _exit(1);
        got += part;
    }
    CORBA::Object_var object = orb->string_to_object(text);
    consumer = CosEventComm::PushConsumer::_narrow(object);
}

int main(int argc, char **argv) {
    int there[2], back[2];
    if (pipe(there) || pipe(back)) return 1;
    far = fork() == 0;
    stay(argc, argv, far);
    // Both threads that a call needs exist before it, and messages of a megabyte are let through.
    const char *options[][2] = {{"giopMaxMsgSize", "8388608"}, {"endPoint", "giop:tcp:127.0.0.1:"}, {0, 0}};
    int none = 0;
    CORBA::ORB_var orb = CORBA::ORB_init(none, argv, "omniORB4", options);
    CORBA::Object_var object = orb->resolve_initial_references("RootPOA");
    PortableServer::POA_var poa = PortableServer::POA::_narrow(object);
    PortableServer::POAManager_var manager = poa->the_POAManager();
    manager->activate();
    CosEventComm::PushConsumer_var own = (new Consumer)->_this();
    if (far) learn_reference(there[0], orb), tell_reference(back[1], orb, own);
    else tell_reference(there[1], orb, own), learn_reference(back[0], orb);
    if (!far) _exit(tell((uint32_t)values_of(argc, argv)));
    std::unique_lock<std::mutex> locked(lock);
    changed.wait(locked, [] { return ended; });
    _exit(0);
}
