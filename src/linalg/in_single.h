/* Single precision: see in_double.h. */
#undef REAL
#undef MATRIX
#undef VIEW
#undef OF
#undef CBLAS
#undef LAPACKE
#undef LAPACK_NAME
#undef FROM_DOUBLE
#define REAL float
#define MATRIX struct al_matrix_f
#define VIEW struct al_view_f
#define OF(name) name##_f
#define CBLAS(name) cblas_s##name
#define LAPACKE(name) LAPACKE_s##name
#define LAPACK_NAME(name) "s" name
#define FROM_DOUBLE al_narrow
