/* Sums of terms: in the order of their rows while they are added up, whole and coprime once they
 * are done. */
#include "formula/cases.h"

struct al_summand {
	mpz_t coefficient;
	unsigned char row[];
};

static void clear(void *part)
{
	mpz_clear(((struct al_summand *)part)->coefficient);
}

void al_sum_init(struct al_sum *sum, size_t n_factors)
{
	*sum = (struct al_sum){.width = 1 + n_factors};
	al_arena_init(&sum->arena);
}

void al_sum_finish(struct al_sum *sum)
{
	al_arena_finish(&sum->arena);
}

/* ---- adding ---- */

/* The place of a row among the parts. */
static size_t find(const struct al_sum *sum, const unsigned char *row)
{
	size_t first = 0, end = sum->n;

	while (first < end) {
		const size_t middle = first + (end - first) / 2;
		if (memcmp(sum->parts[middle]->row, row, sum->width) > 0)
			first = middle + 1;
		else
			end = middle;
	}
	return first;
}

static struct al_summand *insert(struct al_sum *sum, size_t place, const unsigned char *row)
{
	struct al_summand *part = al_arena_alloc(&sum->arena, 1, sizeof(*part) + sum->width);

	mpz_init(part->coefficient);
	al_arena_defer(&sum->arena, clear, part);
	memcpy(part->row, row, sum->width);
	*AL_APPEND(&sum->arena, sum->parts, sum->n, sum->room) = part;
	memmove(sum->parts + place + 1, sum->parts + place,
		(sum->n - 1 - place) * sizeof(*sum->parts));
	sum->parts[place] = part;
	return part;
}

void al_sum_add(struct al_sum *sum, const unsigned char *row, mpz_srcptr a, mpz_srcptr b)
{
	const size_t place = find(sum, row);
	const bool is_there = place < sum->n
		&& memcmp(sum->parts[place]->row, row, sum->width) == 0;
	struct al_summand *part = is_there ? sum->parts[place] : insert(sum, place, row);

	mpz_addmul(part->coefficient, a, b);
}

const unsigned char *al_sum_next(const struct al_sum *sum, size_t *i, mpz_srcptr *coefficient)
{
	while (*i < sum->n && mpz_sgn(sum->parts[*i]->coefficient) == 0)
		++*i;
	if (*i == sum->n)
		return NULL;
	*coefficient = sum->parts[*i]->coefficient;
	return sum->parts[*i]->row;
}

/* ---- the result ---- */

static void drop_zeros(struct al_sum *sum)
{
	size_t n = 0;

	for (size_t i = 0; i < sum->n; i++)
		if (mpz_sgn(sum->parts[i]->coefficient) != 0)
			sum->parts[n++] = sum->parts[i];
	sum->n = n;
}

/* Divides the coefficients by what they share, and makes the first positive: `content` takes it. */
static void make_primitive(struct al_sum *sum, mpq_t content)
{
	mpz_ptr shared = mpq_numref(content);

	for (size_t i = 0; i < sum->n && mpz_cmp_ui(shared, 1) != 0; i++)
		mpz_gcd(shared, shared, sum->parts[i]->coefficient);
	if (sum->n > 0 && mpz_sgn(sum->parts[0]->coefficient) < 0)
		mpz_neg(shared, shared);
	if (mpz_cmp_ui(shared, 1) == 0)
		return;
	for (size_t i = 0; i < sum->n; i++)
		mpz_divexact(sum->parts[i]->coefficient, sum->parts[i]->coefficient, shared);
}

static bool is_used(const struct al_sum *sum, size_t factor)
{
	for (size_t i = 0; i < sum->n; i++)
		if (sum->parts[i]->row[1 + factor])
			return true;
	return false;
}

/* The factors that are used; `columns` takes the columns of the rows that are kept. */
static void keep_used(const struct al_sum *sum, struct al_pool *pool,
	const struct al_polynomial_factor *const *factors, struct al_terms *out, size_t *columns)
{
	const struct al_polynomial_factor **used = al_new_array(&pool->arena,
		const struct al_polynomial_factor *, sum->width);

	for (size_t f = 0; f + 1 < sum->width; f++)
		if (is_used(sum, f)) {
			columns[1 + out->n_factors] = 1 + f;
			used[out->n_factors++] = factors[f];
		}
	out->factors = used;
}

const struct al_terms *al_sum_terms(struct al_sum *sum, struct al_pool *pool,
	const struct al_polynomial_factor *const *factors, mpq_srcptr content)
{
	struct al_terms *terms = al_new(&pool->arena, struct al_terms);
	size_t *columns = al_new_array(&sum->arena, size_t, sum->width);

	AL_EXACT(shared);
	if (mpq_sgn(content) == 0)
		sum->n = 0;
	drop_zeros(sum);
	make_primitive(sum, shared);
	mpq_mul(shared, shared, content);
	keep_used(sum, pool, factors, terms, columns);
	const size_t width = 1 + terms->n_factors;
	unsigned char *rows = al_new_array(&pool->arena, unsigned char, sum->n *width);
	mpz_ptr coefficients = al_new_array(&pool->arena, __mpz_struct, sum->n);
	for (size_t i = 0; i < sum->n; i++) {
		for (size_t c = 0; c < width; c++)
			rows[i * width + c] = sum->parts[i]->row[columns[c]];
		al_integer_copy(&pool->arena, &coefficients[i], sum->parts[i]->coefficient);
	}
	terms->content = al_exact_copy(&pool->arena, shared);
	terms->n = sum->n;
	terms->rows = rows;
	terms->coefficients = coefficients;
	return terms;
}
