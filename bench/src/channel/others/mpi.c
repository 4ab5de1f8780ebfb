/* Events as messages of MPI between two processes, of a derived datatype that was committed before. After `events.h`. */
#include <mpi.h>
#include <stddef.h>

static struct message {
    uint32_t step, mode, count;
    float values[];
} *room;
static MPI_Datatype whole, head;
static int other;

static int make(int count, MPI_Datatype *type) {
    int lengths[2] = {3, count};
    MPI_Aint places[2] = {0, offsetof(struct message, values)};
    MPI_Datatype parts[2] = {MPI_UINT32_T, MPI_FLOAT};
    return MPI_Type_create_struct(count > 0 ? 2 : 1, lengths, places, parts, type) | MPI_Type_commit(type);
}

static int post(const struct event *event) {
    room->step = event->step, room->mode = event->mode, room->count = event->count;
    return MPI_Send(room, 1, event->count > 0 ? whole : head, other, 0, MPI_COMM_WORLD);
}

/* MPI waits in a loop that takes all the time of a core. Between rounds other ways are measured on it, so this looks for
 * the next event from time to time only, if none has come for a while. */
static int probe(void) {
    struct timespec moment = {0, 500000};
    int there = 0, failed = 0;
    for (double begin = now(); !there && !failed; failed = MPI_Iprobe(other, 0, MPI_COMM_WORLD, &there, MPI_STATUS_IGNORE))
        if (now() - begin > 2e6) nanosleep(&moment, NULL);
    return failed;
}

static int next(struct event *event) {
    int failed = probe();
    failed |= MPI_Recv(room, 1, whole, other, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    event->step = room->step, event->mode = room->mode, event->count = room->count, event->values = room->values;
    return failed;
}

int main(int argc, char **argv) {
    int count = values_of(argc, argv), rank, failed = 0;
    if (MPI_Init(&argc, &argv)) return 1;
    room = (struct message *)calloc(1, sizeof *room + ((size_t)count + 1) * sizeof *room->values);
    for (int i = 0; i < count; i++) room->values[i] = 0.5f;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    stay(argc, argv, rank);
    other = 1 - rank, failed |= make(count, &whole) | make(0, &head);
    if (failed) return 1;
    if (rank == 0) failed = tell((uint32_t)count);
    else for (struct event event; !next(&event) && !(failed = handle(&event));) {}
    if (failed > 1) MPI_Abort(MPI_COMM_WORLD, failed);
    MPI_Finalize();
    return 0;
}
