// Records as CORBA's CDR, by the stubs that omniidl makes of their IDL (`table.rs`). A sender writes in its own byte order,
// and a receiver swaps what it receives from the other.
//
// In front of this come the stubs, and the table `rows`, with the structs of the records that there are.

template <class R> static void write(cdrMemoryStream &stream, const void *record) {
    *static_cast<const R *>(record) >>= stream;
}

template <class R> static void read(cdrMemoryStream &stream, void *record) {
    *static_cast<R *>(record) <<= stream;
}

struct Row {
    void (*write)(cdrMemoryStream &, const void *);
    void (*read)(cdrMemoryStream &, void *);
    size_t size;
};

#define ROW(R) { write<R>, read<R>, sizeof(R) },
#define NONE { nullptr, nullptr, 0 },
static const Row rows[] = { ROWS };

static const CORBA::Boolean OTHER = !omni::myByteOrder;

extern "C" int start() { return 0; }

// What is written stays in the stream's own buffer, as it does on its way to a socket.
extern "C" size_t encode(size_t index, const void *record, unsigned char *, size_t) {
    static cdrMemoryStream stream;
    stream.rewindPtrs();
    rows[index].write(stream, record);
    return stream.bufSize();
}

extern "C" size_t encode_foreign(size_t index, const void *record, unsigned char *out, size_t room) {
    cdrMemoryStream stream;
    stream.setByteSwapFlag(OTHER);
    rows[index].write(stream, record);
    size_t size = stream.bufSize();
    if (size > room) return 0;
    memcpy(out, stream.bufPtr(), size);
    return size;
}

extern "C" int decode(size_t index, const unsigned char *message, size_t length, void *record) {
    try {
        cdrMemoryStream stream(const_cast<unsigned char *>(message), length);
        stream.setByteSwapFlag(OTHER);
        rows[index].read(stream, record);
        return 0;
    } catch (...) {
        return 1;
    }
}
