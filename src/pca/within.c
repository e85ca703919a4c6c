/* Sums of products of heads within each dimension.
 *
 * The products of d_head small Gram matrices: too small for BLAS, so heads are taken three by three
 * and dimensions four by four, nine sums in registers. Each sum is added up in the order of tokens,
 * and multiplication and addition are rounded apart (no fused one): the same bits with and without
 * AVX2. Blocks are copied so that what a tile reads lies together:
 *
 *     block[dimension / 4][token][head][4]     heads filled up to threes, dimensions to fours */
#include "pca/within.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "linalg/kernel.h"

enum { LANES = 4, TILE = 3, BLOCK = 64, TILE_SUMS = TILE * TILE };

typedef double lanes __attribute__((vector_size(LANES * sizeof(double)), aligned(8), may_alias));

static size_t tiles_of(const struct al_within *w)
{
	return (w->n_heads + TILE - 1) / TILE;
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

static void pack(const struct al_within *w, const double *rows, size_t width, size_t n,
	double *block)
{
	const size_t heads = tiles_of(w) * TILE, chunks = chunks_of(w);

	for (size_t t = 0; t < n; t++)
		for (size_t i = 0; i < w->n_heads; i++) {
			const double *x = rows + t * width + i * w->d_head,
				     *shift = w->shift + i * w->d_head;
			for (size_t c = 0; c < chunks; c++) {
				double *to = block + ((c * BLOCK + t) * heads + i) * LANES;
				const size_t left = w->d_head - c * LANES;
				for (size_t k = 0; k < (left < LANES ? left : LANES); k++)
					to[k] = x[c * LANES + k] - shift[c * LANES + k];
			}
		}
}

static inline __attribute__((always_inline)) void add_sums(const double *x, size_t heads, size_t n,
	double *sums)
{
	for (size_t i = 0; i < heads; i++) {
		lanes sum = {0};
		for (size_t t = 0; t < n; t++)
			sum += *(const lanes *)(x + (t * heads + i) * LANES);
		*(lanes *)(sums + i * LANES) += sum;
	}
}

static inline __attribute__((always_inline)) void add_tile(const double *a, const double *b,
	size_t heads, size_t n, double *sums)
{
	lanes sum[TILE][TILE] = {{{0}}};

	for (size_t t = 0; t < n; t++) {
		const lanes *x = (const lanes *)(a + t * heads * LANES),
			    *y = (const lanes *)(b + t * heads * LANES);
		for (size_t i = 0; i < TILE; i++)
			for (size_t k = 0; k < TILE; k++)
				sum[i][k] += x[i] * y[k];
	}
	for (size_t i = 0; i < TILE; i++)
		for (size_t k = 0; k < TILE; k++)
			*(lanes *)(sums + (i * TILE + k) * LANES) += sum[i][k];
}

static inline __attribute__((always_inline)) void add_chunk(const double *x, size_t tiles, size_t n,
	double *sums)
{
	const size_t heads = tiles * TILE;

	add_sums(x, heads, n, sums);
	sums += heads * LANES;
	for (size_t a = 0; a < tiles; a++)
		for (size_t b = 0; b <= a; b++, sums += TILE_SUMS * LANES)
			add_tile(x + a * TILE * LANES, x + b * TILE * LANES, heads, n, sums);
}

static void add_chunk_plain(const double *x, size_t tiles, size_t n, double *sums)
{
	add_chunk(x, tiles, n, sums);
}

#if defined(__x86_64__)
__attribute__((target("avx2"))) static void add_chunk_avx2(const double *x, size_t tiles, size_t n,
	double *sums)
{
	add_chunk(x, tiles, n, sums);
}
#else
static void add_chunk_avx2(const double *x, size_t tiles, size_t n, double *sums)
{
	add_chunk(x, tiles, n, sums);
}
#endif

static bool add(const void *context, const double *rows, size_t n, double *sums,
	struct al_error *err)
{
	const struct al_within *w = context;
	const size_t tiles = tiles_of(w), chunks = chunks_of(w),
		     chunk_room = (size_t)BLOCK * tiles * TILE * LANES,
		     width = w->n_heads * w->d_head;
	void (*add_to)(const double *x, size_t tiles, size_t n,
		double *sums) = al_cpu_level() >= AL_CPU_AVX2 ? add_chunk_avx2 : add_chunk_plain;
	double *block = al_calloc(chunks, chunk_room * sizeof(*block));

	(void)err;
	for (size_t first = 0; first < n; first += BLOCK) {
		const size_t here = n - first < BLOCK ? n - first : BLOCK;
		pack(w, rows + first * width, width, here, block);
		for (size_t c = 0; c < chunks; c++)
			add_to(block + c * chunk_room, tiles, here, sums + c * sums_of_chunk(w));
	}
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
	const size_t row = i > k ? i : k, col = i > k ? k : i, a = row / TILE, b = col / TILE,
		     tile = a * (a + 1) / 2 + b, place = row % TILE * TILE + col % TILE;

	return sums[j / LANES * sums_of_chunk(w) + tiles_of(w) * TILE * LANES
		+ (tile * TILE_SUMS + place) * LANES + j % LANES];
}
