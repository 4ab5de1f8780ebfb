/* Records as MPI packs them: each is a derived datatype, committed once. In the sender's own representation, and in
 * `external32`, which is big-endian on every machine.
 *
 * In front of this comes the table of the records that there are (`table.rs`). */
#include <mpi.h>
#include <stdlib.h>

static MPI_Datatype types[sizeof records / sizeof *records];

static MPI_Datatype single(enum kind kind) {
    switch (kind) {
    case I8: return MPI_INT8_T;
    case I16: return MPI_INT16_T;
    case I32: return MPI_INT32_T;
    case I64: return MPI_INT64_T;
    case F32: return MPI_FLOAT;
    default: return MPI_DOUBLE;
    }
}

static int make(const struct field *fields, size_t count, size_t size, MPI_Datatype *type) {
    int lengths[FIELDS], failed = 0;
    MPI_Aint places[FIELDS];
    MPI_Datatype parts[FIELDS], whole;
    for (size_t i = 0; i < count; i++) {
        const struct field *f = &fields[i];
        lengths[i] = (int)f->count, places[i] = (MPI_Aint)f->offset, parts[i] = single(f->kind);
        if (f->kind == RECORD) failed |= make(f->inner, f->inner_count, f->size, &parts[i]);
    }
    failed |= MPI_Type_create_struct((int)count, lengths, places, parts, &whole);
    failed |= MPI_Type_create_resized(whole, 0, (MPI_Aint)size, type);
    failed |= MPI_Type_free(&whole);
    for (size_t i = 0; i < count; i++)
        if (fields[i].kind == RECORD) failed |= MPI_Type_free(&parts[i]);
    return failed | MPI_Type_commit(type);
}

/* Takes away what has been left in the file system. */
static void stop(void) {
    for (size_t i = 0; i < sizeof records / sizeof *records; i++)
        if (records[i].flat) MPI_Type_free(&types[i]);
    MPI_Finalize();
}

int start(void) {
    int running = 0, failed = MPI_Initialized(&running);
    if (!running) failed |= MPI_Init(NULL, NULL) | atexit(stop);
    for (size_t i = 0; i < sizeof records / sizeof *records; i++)
        if (records[i].flat) failed |= make(records[i].fields, records[i].count, records[i].size, &types[i]);
    return failed;
}

size_t encode(size_t index, const void *record, unsigned char *out, size_t room) {
    int end = 0;
    return MPI_Pack(record, 1, types[index], out, (int)room, &end, MPI_COMM_SELF) ? 0 : (size_t)end;
}

int decode(size_t index, const unsigned char *message, size_t length, void *record) {
    int at = 0;
    return MPI_Unpack(message, (int)length, &at, record, 1, types[index], MPI_COMM_SELF);
}

#ifdef MPICH_VERSION

/* MPICH 4.0 crashes in MPI_Pack_external if the type is a struct. So it is asked for one field after the other. */
static int external(const struct field *fields, size_t count, char *record, void *buffer, MPI_Aint size, MPI_Aint *at,
                    int reading) {
    int failed = 0;
    for (const struct field *f = fields; f < fields + count; f++) {
        char *value = record + f->offset;
        int n = (int)f->count;
        if (f->kind == RECORD)
            for (size_t i = 0; i < f->count; i++)
                failed |= external(f->inner, f->inner_count, value + i * f->size, buffer, size, at, reading);
        else if (reading)
            failed |= MPI_Unpack_external("external32", buffer, size, at, value, n, single(f->kind));
        else
            failed |= MPI_Pack_external("external32", value, n, single(f->kind), buffer, size, at);
    }
    return failed;
}

size_t encode_external(size_t index, const void *record, unsigned char *out, size_t room) {
    const struct record *r = &records[index];
    MPI_Aint end = 0;
    return external(r->fields, r->count, (char *)record, out, (MPI_Aint)room, &end, 0) ? 0 : (size_t)end;
}

int decode_external(size_t index, const unsigned char *message, size_t length, void *record) {
    const struct record *r = &records[index];
    MPI_Aint at = 0;
    return external(r->fields, r->count, record, (void *)message, (MPI_Aint)length, &at, 1);
}

#else

size_t encode_external(size_t index, const void *record, unsigned char *out, size_t room) {
    MPI_Aint end = 0;
    return MPI_Pack_external("external32", record, 1, types[index], out, (MPI_Aint)room, &end) ? 0 : (size_t)end;
}

int decode_external(size_t index, const unsigned char *message, size_t length, void *record) {
    MPI_Aint at = 0;
    return MPI_Unpack_external("external32", message, (MPI_Aint)length, &at, record, 1, types[index]);
}

#endif
