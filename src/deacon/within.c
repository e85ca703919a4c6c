/* Sums of products of heads within each dimension.
 *
 * The products of d_head small Gram matrices: too small for BLAS, so heads are taken three by three
 * and dimensions four by four, nine sums in registers. Each sum is added up in the order of tokens,
 * in double, and multiplication and addition are rounded apart (no fused one): the same bits with
 * and without AVX2. Blocks are copied so that what a tile reads lies together:
 *
 *     block[dimension / 4][token][head][4]     heads filled up to threes, dimensions to fours
 *
 * Memory is read at the rate of the copy: a block of rows and its copy fit into the second
 * cache. */
#include "deacon/within.h"

#include "linalg/kernel.h"

enum { LANES = 4, TILE = 3, BLOCK = 64, TILE_SUMS = TILE * TILE };

typedef double lanes __attribute__((vector_size(LANES * sizeof(double)), aligned(8), may_alias));

static size_t tiles_of(const struct al_within *w)
{
	return (w->n_heads + TILE - 1) / TILE;
}

/* Of a block, a cache line more than it takes: at a power of two chunks would push each other out
 * of the cache. */
static size_t chunk_room(const struct al_within *w)
{
	return (size_t)BLOCK * tiles_of(w) * TILE * LANES + 2 * LANES;
}

static size_t chunks_of(const struct al_within *w)
{
	return (w->d_head + LANES - 1) / LANES;
}

/* Sums of a chunk: first of each head, then of the tiles at and below the diagonal. */
static size_t sums_of_chunk(const struct al_within *w)
{
	const size_t tiles = tiles_of(w);

	return LANES * (tiles * TILE + tiles * (tiles + 1) / 2 * TILE_SUMS);
}

/* ---- adding a block ---- */

#define INLINE static inline __attribute__((always_inline))

/* The padding to four dimensions and three heads stays 0. */
INLINE void pack(const struct al_within *w, const double *rows, size_t n, double *block)
{
	const size_t heads = tiles_of(w) * TILE, whole = w->d_head / LANES * LANES,
		     stride = chunk_room(w);

	for (size_t t = 0; t < n; t++)
		for (size_t i = 0; i < w->n_heads; i++) {
			const size_t first = i * w->d_head, at = t * w->n_heads * w->d_head + first;
			const double *shift = w->shift + first;
			double *to = block + (t * heads + i) * LANES;
			for (size_t j = 0; j < whole; j += LANES, to += stride)
				*(lanes *)to = *(const lanes *)(rows + at + j)
					- *(const lanes *)(shift + j);
			for (size_t j = whole; j < w->d_head; j++)
				to[j - whole] = rows[at + j] - shift[j];
		}
}

/* `own`: of three heads with themselves, their sums too; else NULL. */
INLINE void add_tile(const double *a, const double *b, size_t heads, size_t n, double *own,
	double *sums)
{
	lanes alone[TILE] = {{0}}, sum[TILE][TILE] = {{{0}}};

	for (size_t t = 0; t < n; t++) {
		const lanes *x = (const lanes *)(a + t * heads * LANES),
			    *y = (const lanes *)(b + t * heads * LANES);
		for (size_t i = 0; i < TILE; i++) {
			if (own)
				alone[i] += x[i];
			for (size_t k = 0; k < (own ? i + 1 : TILE); k++)
				sum[i][k] += x[i] * y[k];
		}
	}
	for (size_t i = 0; i < TILE; i++) {
		if (own)
			*(lanes *)(own + i * LANES) += alone[i];
		for (size_t k = 0; k < TILE; k++)
			*(lanes *)(sums + (i * TILE + k) * LANES) += sum[i][k];
	}
}

INLINE void add_chunk(const double *x, size_t tiles, size_t n, double *sums)
{
	const size_t heads = tiles * TILE, step = (size_t)TILE * LANES;
	double *products = sums + heads * LANES;

	for (size_t a = 0; a < tiles; a++, products += TILE_SUMS * LANES) {
		for (size_t b = 0; b < a; b++, products += TILE_SUMS * LANES)
			add_tile(x + a * step, x + b * step, heads, n, NULL, products);
		add_tile(x + a * step, x + a * step, heads, n, sums + a * step, products);
	}
}

/* At most BLOCK rows. */
INLINE void add_rows(const struct al_within *w, const double *rows, size_t n, double *block,
	double *sums)
{
	const size_t tiles = tiles_of(w), room = chunk_room(w);

	pack(w, rows, n, block);
	for (size_t c = 0; c < chunks_of(w); c++)
		add_chunk(block + c * room, tiles, n, sums + c * sums_of_chunk(w));
}

static void add_rows_plain(const struct al_within *w, const double *rows, size_t n, double *block,
	double *sums)
{
	add_rows(w, rows, n, block, sums);
}

#if defined(__x86_64__)
__attribute__((target("avx2")))
#endif
static void
add_rows_avx2(const struct al_within *w, const double *rows, size_t n, double *block, double *sums)
{
	add_rows(w, rows, n, block, sums);
}

static bool add(const void *context, const double *rows, size_t n, double *sums,
	struct al_error *err)
{
	const struct al_within *w = context;
	const size_t heads = tiles_of(w) * TILE, room = chunks_of(w) * chunk_room(w);
	const bool is_filled = heads == w->n_heads && w->d_head % LANES == 0,
		   is_avx2 = al_cpu_level() >= AL_CPU_AVX2;
	double *block = is_filled ? al_alloc(room, sizeof(*block))
				  : al_calloc(room, sizeof(*block));

	(void)err;
	for (size_t first = 0; first < n; first += BLOCK)
		(is_avx2 ? add_rows_avx2 : add_rows_plain)(w, rows + first * w->n_heads * w->d_head,
			al_least(n - first, BLOCK), block, sums);
	free(block);
	return true;
}

/* ---- its sums ---- */

struct al_statistic al_within_statistic(const struct al_within *w)
{
	return (struct al_statistic){.width = w->n_heads * w->d_head,
		.n_sums = chunks_of(w) * sums_of_chunk(w),
		.block_rows = BLOCK,
		.add = add,
		.context = w};
}

double al_within_sum(const struct al_within *w, const double *sums, size_t head, size_t j)
{
	return sums[j / LANES * sums_of_chunk(w) + head * LANES + j % LANES];
}

double al_within_product(const struct al_within *w, const double *sums, size_t i, size_t k,
	size_t j)
{
	const size_t row = al_most(i, k), col = al_least(k, i), a = row / TILE, b = col / TILE,
		     tile = a * (a + 1) / 2 + b, place = row % TILE * TILE + col % TILE;

	return sums[j / LANES * sums_of_chunk(w) + tiles_of(w) * TILE * LANES
		+ (tile * TILE_SUMS + place) * LANES + j % LANES];
}
