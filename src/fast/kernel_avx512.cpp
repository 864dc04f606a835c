// x86-64 with AVX-512.
#if defined(__AVX512F__)
#include <immintrin.h>

#define QKV_LANES avx512
#define QKV_VECTOR_BYTES 64
#define QKV_FUSED_DOUBLES(a, b, c) _mm512_fmadd_pd(a, b, c)
#define QKV_FUSED_FLOATS(a, b, c) _mm512_fmadd_ps(a, b, c)

#include "fast/kernel_body.h"
#endif
