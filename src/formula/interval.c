/* Interval arithmetic over a formula's tree. */
#include "formula/interval.h"

#include "formula/tree.h"

void al_interval_init(struct al_interval *interval)
{
	*interval = (struct al_interval){.kind = AL_INTERVAL_BETWEEN};
	mpq_inits(interval->low, interval->high, NULL);
}

void al_interval_finish(struct al_interval *interval)
{
	mpq_clears(interval->low, interval->high, NULL);
}

void al_interval_set(struct al_interval *interval, mpq_srcptr low, mpq_srcptr high)
{
	interval->kind = AL_INTERVAL_BETWEEN;
	mpq_set(interval->low, low);
	mpq_set(interval->high, high);
}

void al_interval_set_any(struct al_interval *interval)
{
	interval->kind = AL_INTERVAL_ANY;
}

void al_interval_include(struct al_interval *interval, mpq_srcptr q)
{
	if (mpq_cmp(q, interval->low) < 0)
		mpq_set(interval->low, q);
	if (mpq_cmp(q, interval->high) > 0)
		mpq_set(interval->high, q);
}

static bool is_between(const struct al_interval *a)
{
	return a->kind == AL_INTERVAL_BETWEEN;
}

/* Ends that grow beyond what a formula may are given up. */
static bool is_long(mpq_srcptr q)
{
	return mpz_sizeinbase(mpq_numref(q), 2) > AL_FORMULA_BITS
		|| mpz_sizeinbase(mpq_denref(q), 2) > AL_FORMULA_BITS;
}

static void tidy(struct al_interval *a)
{
	bool meets = a->kind == AL_INTERVAL_OUTSIDE
		&& ((a->has_low && a->has_high && mpq_cmp(a->low, a->high) >= 0)
			|| (!a->has_low && !a->has_high));

	if (meets || (a->kind != AL_INTERVAL_ANY && (is_long(a->low) || is_long(a->high))))
		al_interval_set_any(a);
}

/* ---- arithmetic; `out` may be an operand ---- */

static void negate(struct al_interval *a)
{
	bool had_low = a->has_low;

	mpq_swap(a->low, a->high);
	mpq_neg(a->low, a->low);
	mpq_neg(a->high, a->high);
	a->has_low = a->has_high;
	a->has_high = had_low;
}

/* a += b */
static void add(struct al_interval *a, struct al_interval *b)
{
	if (a->kind == AL_INTERVAL_ANY || b->kind == AL_INTERVAL_ANY
		|| (!is_between(a) && !is_between(b))) {
		al_interval_set_any(a);
		return;
	}
	struct al_interval *outside = is_between(a) ? b : a, *other = is_between(a) ? a : b;
	if (!is_between(outside))
		mpq_swap(other->low, other->high);
	a->kind = outside->kind;
	a->has_low = outside->has_low;
	a->has_high = outside->has_high;
	mpq_add(a->low, a->low, b->low);
	mpq_add(a->high, a->high, b->high);
}

static void multiply_between(struct al_interval *a, const struct al_interval *b)
{
	mpq_t products[4];

	for (int i = 0; i < 4; i++) {
		mpq_init(products[i]);
		mpq_mul(products[i], i & 1 ? a->high : a->low, i & 2 ? b->high : b->low);
	}
	al_interval_set(a, products[0], products[0]);
	for (int i = 1; i < 4; i++)
		al_interval_include(a, products[i]);
	for (int i = 0; i < 4; i++)
		mpq_clear(products[i]);
}

/* `outside` times numbers from low > 0 to high. */
static void stretch(struct al_interval *outside, mpq_srcptr low, mpq_srcptr high)
{
	mpq_mul(outside->low, outside->low, mpq_sgn(outside->low) <= 0 ? low : high);
	mpq_mul(outside->high, outside->high, mpq_sgn(outside->high) >= 0 ? low : high);
}

/* a *= b */
static void multiply(struct al_interval *a, struct al_interval *b)
{
	if (is_between(a) && is_between(b)) {
		multiply_between(a, b);
		return;
	}
	struct al_interval *outside = is_between(a) ? b : a, *other = is_between(a) ? a : b;
	if (!is_between(other) || outside->kind != AL_INTERVAL_OUTSIDE
		|| mpq_sgn(other->low) * mpq_sgn(other->high) <= 0) {
		al_interval_set_any(a);
		return;
	}
	if (mpq_sgn(other->high) < 0) {
		negate(other);
		negate(outside);
	}
	stretch(outside, other->low, other->high);
	if (outside != a) {
		a->kind = outside->kind;
		a->has_low = outside->has_low;
		a->has_high = outside->has_high;
		mpq_set(a->low, outside->low);
		mpq_set(a->high, outside->high);
	}
}

static void invert_ends(struct al_interval *a)
{
	if (mpq_sgn(a->low) != 0)
		mpq_inv(a->low, a->low);
	if (mpq_sgn(a->high) != 0)
		mpq_inv(a->high, a->high);
}

/* a = 1/a: between ends of one sign it turns over, around zero it becomes what is outside. */
static void invert(struct al_interval *a)
{
	int low = mpq_sgn(a->low), high = mpq_sgn(a->high);

	if (is_between(a) && low * high > 0) {
		invert_ends(a);
		mpq_swap(a->low, a->high);
	} else if (is_between(a) && (low != 0 || high != 0)) {
		a->kind = AL_INTERVAL_OUTSIDE;
		a->has_low = low < 0;
		a->has_high = high > 0;
		invert_ends(a);
	} else if (a->kind == AL_INTERVAL_OUTSIDE && a->has_low && a->has_high && low < 0
		&& high > 0) {
		a->kind = AL_INTERVAL_BETWEEN;
		invert_ends(a);
	} else
		al_interval_set_any(a);
}

static void power_of(mpq_t q, unsigned long n)
{
	mpz_pow_ui(mpq_numref(q), mpq_numref(q), n);
	mpz_pow_ui(mpq_denref(q), mpq_denref(q), n);
}

/* a = a^n, n >= 0 */
static void raise(struct al_interval *a, unsigned long n)
{
	bool holds_zero = mpq_sgn(a->low) < 0 && mpq_sgn(a->high) > 0;

	power_of(a->low, n);
	power_of(a->high, n);
	if (mpq_cmp(a->low, a->high) > 0)
		mpq_swap(a->low, a->high);
	if (holds_zero && n % 2 == 0 && n > 0)
		mpq_set_ui(a->low, 0, 1);
}

static void power(struct al_interval *a, const struct al_interval *exponent)
{
	const mpq_t *n = &exponent->low;

	if (!is_between(a) || !is_between(exponent) || !mpq_equal(exponent->low, exponent->high)
		|| mpz_cmp_ui(mpq_denref(*n), 1) != 0
		|| mpz_cmpabs_ui(mpq_numref(*n), AL_FORMULA_EXPONENT) > 0) {
		al_interval_set_any(a);
		return;
	}
	raise(a, mpz_get_ui(mpq_numref(*n)));
	if (mpq_sgn(*n) < 0)
		invert(a);
}

/* Whole quotients: exact where both are points. */
static void whole(enum al_operator op, struct al_interval *a, const struct al_interval *b)
{
	bool are_points = is_between(a) && is_between(b) && mpq_equal(a->low, a->high)
		&& mpq_equal(b->low, b->high);

	if (!are_points || al_exact_apply(op, a->low, b->low, a->low))
		al_interval_set_any(a);
	else
		mpq_set(a->high, a->low);
}

static void extreme(enum al_operator op, struct al_interval *a, const struct al_interval *b)
{
	int sign = op == AL_OP_MIN ? -1 : 1;

	if (!is_between(a) || !is_between(b)) {
		al_interval_set_any(a);
		return;
	}
	if (sign * mpq_cmp(b->low, a->low) > 0)
		mpq_set(a->low, b->low);
	if (sign * mpq_cmp(b->high, a->high) > 0)
		mpq_set(a->high, b->high);
}

static void apply(enum al_operator op, struct al_interval *a, struct al_interval *b)
{
	switch (op) {
	case AL_OP_SUBTRACT:
		negate(b);
		add(a, b);
		break;
	case AL_OP_ADD:
		add(a, b);
		break;
	case AL_OP_DIVIDE:
		invert(b);
		multiply(a, b);
		break;
	case AL_OP_MULTIPLY:
		multiply(a, b);
		break;
	case AL_OP_POWER:
		power(a, b);
		break;
	case AL_OP_MIN:
	case AL_OP_MAX:
		extreme(op, a, b);
		break;
	default:
		whole(op, a, b);
	}
	tidy(a);
}

/* ---- the tree ---- */

struct run {
	const struct al_interval_scope *scope;
	struct al_error *err;
};

static bool enclose(const struct run *run, const struct al_node *node, struct al_interval *out);

static bool enclose_symbol(const struct run *run, const struct al_node *node,
	struct al_interval *out)
{
	const struct al_reference reference = {.symbol = node->text, .row = node->row};

	if (node->n_args > 0) {
		al_interval_set_any(out);
		return true;
	}
	return run->scope->lookup(run->scope->context, &reference, out, run->err);
}

static void enclose_number(const struct al_node *node, struct al_interval *out)
{
	out->kind = AL_INTERVAL_BETWEEN;
	if (node->exact)
		mpq_set(out->low, node->exact);
	else
		al_exact_set(out->low, node->integer);
	mpq_set(out->high, out->low);
}

/* A condition isn't decided over ranges: it is worth 0 or 1 ... */
static void enclose_truth(struct al_interval *out)
{
	out->kind = AL_INTERVAL_BETWEEN;
	mpq_set_ui(out->low, 0, 1);
	mpq_set_ui(out->high, 1, 1);
}

/* ... and what hangs on it can be worth what both branches are. */
static bool enclose_if(const struct run *run, const struct al_node *node, struct al_interval *out)
{
	AL_INTERVAL(other);

	if (!enclose(run, node->args[1], out) || !enclose(run, node->args[2], &other))
		return false;
	if (is_between(out) && is_between(&other)) {
		al_interval_include(out, other.low);
		al_interval_include(out, other.high);
	} else
		al_interval_set_any(out);
	return true;
}

static bool enclose_operands(const struct run *run, const struct al_node *node,
	struct al_interval *out)
{
	AL_INTERVAL(next);

	if (!enclose(run, node->args[0], out))
		return false;
	for (size_t i = 1; i < node->n_args; i++) {
		if (!enclose(run, node->args[i], &next))
			return false;
		apply(node->op, out, &next);
	}
	return true;
}

static bool enclose(const struct run *run, const struct al_node *node, struct al_interval *out)
{
	switch (node->op) {
	case AL_OP_INTEGER:
		enclose_number(node, out);
		return true;
	case AL_OP_WORD:
		al_interval_set_any(out);
		return true;
	case AL_OP_SYMBOL:
		return enclose_symbol(run, node, out);
	case AL_OP_NOT:
	case AL_OP_AND:
	case AL_OP_OR:
	case AL_OP_EQUAL:
	case AL_OP_NOT_EQUAL:
	case AL_OP_LESS:
	case AL_OP_LESS_EQUAL:
	case AL_OP_GREATER:
	case AL_OP_GREATER_EQUAL:
		enclose_truth(out);
		return true;
	case AL_OP_IF:
		return enclose_if(run, node, out);
	case AL_OP_NEGATE:
		if (!enclose(run, node->args[0], out))
			return false;
		negate(out);
		return true;
	default:
		return enclose_operands(run, node, out);
	}
}

bool al_formula_enclose(const struct al_formula *formula, const struct al_interval_scope *scope,
	struct al_interval *out, struct al_error *err)
{
	struct run run = {.scope = scope, .err = err};

	return enclose(&run, formula->root, out);
}
