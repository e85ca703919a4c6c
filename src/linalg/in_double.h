/* Double precision, for files that are included once for each: NAME.inc uses REAL, MATRIX, VIEW and
 * OF(al_name) for double, al_matrix, al_view and al_name, or for float and the same with _f. */
#undef REAL
#undef MATRIX
#undef VIEW
#undef OF
#undef CBLAS
#undef LAPACKE
#undef LAPACK_NAME
#undef FROM_DOUBLE
#define REAL double
#define MATRIX struct al_matrix
#define VIEW struct al_view
#define OF(name) name
#define CBLAS(name) cblas_d##name
#define LAPACKE(name) LAPACKE_d##name
#define LAPACK_NAME(name) "d" name
#define FROM_DOUBLE al_copy
