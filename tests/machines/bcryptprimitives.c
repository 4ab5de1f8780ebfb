/* bcryptprimitives.dll, which Rust's standard library takes random numbers from, and which Wine has only since its
   version 9: to lie beside a program that runs under an older one. */
#include <windows.h>
#include <ntsecapi.h>

__declspec(dllexport) BOOL WINAPI ProcessPrng(PBYTE bytes, SIZE_T count) {
    return RtlGenRandom(bytes, (ULONG)count);
}
