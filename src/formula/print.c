/* Polynomials as text and as LaTeX. */

#include "formula/cases.h"

struct printer {
	struct al_text *out;
	bool is_latex;
	const char *(*name_of)(void *context, const char *symbol);
	void *context;
	size_t limit; /* stop soon after so many bytes; 0: none */
};

static void print_terms(const struct printer *p, const struct al_terms *terms);

static bool is_full(const struct printer *p)
{
	return p->limit && p->out->length > p->limit;
}

/* ---- factors ---- */

static void add_escaped(struct al_text *out, const char *name)
{
	for (const char *c = name; *c; c++) {
		if (strchr("_%&#${}", *c))
			al_text_addf(out, "\\%c", *c);
		else if (*c == '\\')
			al_text_add(out, "{\\backslash}");
		else if (*c == '^' || *c == '~')
			al_text_add(out, *c == '^' ? "{\\wedge}" : "{\\sim}");
		else
			al_text_add_bytes(out, c, 1);
	}
}

static void print_symbol(const struct printer *p, const struct al_polynomial_factor *factor,
	bool has_exponent)
{
	const char *latex = p->is_latex && p->name_of ? p->name_of(p->context, factor->symbol)
						      : NULL;

	if (!p->is_latex)
		al_text_add(p->out, factor->symbol);
	else if (!latex)
		add_escaped(p->out, factor->symbol);
	else if (has_exponent && strchr(latex, '^'))
		al_text_addf(p->out, "{%s}", latex);
	else
		al_text_add(p->out, latex);
	if (!factor->left)
		return;
	al_text_add(p->out, "[");
	print_terms(p, factor->left);
	al_text_add(p->out, "]");
}

/* How a factor that stays whole is printed: around its operands, which may need brackets. */
enum operand { INSIDE, DIVIDEND, DIVISOR };
struct form {
	const char *before, *between, *after;
	enum operand left, right;
};

static const struct form text_forms[] = {
	[AL_OP_DIVIDE] = {"(", "/", ")", DIVIDEND, DIVISOR},
	[AL_OP_CEIL_DIV] = {"ceil_div(", ", ", ")", INSIDE, INSIDE},
	[AL_OP_MOD] = {"mod(", ", ", ")", INSIDE, INSIDE},
};
static const struct form latex_forms[] = {
	[AL_OP_DIVIDE] = {"\\frac{", "}{", "}", INSIDE, INSIDE},
	[AL_OP_CEIL_DIV] = {"\\left\\lceil \\frac{", "}{", "} \\right\\rceil", INSIDE, INSIDE},
	[AL_OP_MOD] = {"\\left(", " \\bmod ", "\\right)", DIVISOR, DIVISOR},
};

/* In brackets unless it binds as tightly. */
static void print_operand(const struct printer *p, const struct al_terms *terms,
	enum operand operand)
{
	bool is_single = fmpq_mpoly_length(terms->value, terms->ctx) == 1
		&& (operand == DIVIDEND || terms->n_factors == 0
			|| (terms->n_factors == 1 && fmpq_is_one(terms->value->content)));
	bool has_brackets = operand != INSIDE && !is_single;

	al_text_add(p->out, has_brackets ? "(" : "");
	print_terms(p, terms);
	al_text_add(p->out, has_brackets ? ")" : "");
}

static void print_opaque(const struct printer *p, const struct al_polynomial_factor *factor,
	bool has_exponent)
{
	const struct form *form = &(p->is_latex ? latex_forms : text_forms)[factor->op];
	bool has_brackets = p->is_latex && factor->op == AL_OP_DIVIDE && has_exponent;

	al_text_add(p->out, has_brackets ? "\\left(" : "");
	al_text_add(p->out, form->before);
	print_operand(p, factor->left, form->left);
	al_text_add(p->out, form->between);
	print_operand(p, factor->right, form->right);
	al_text_add(p->out, form->after);
	al_text_add(p->out, has_brackets ? "\\right)" : "");
}

static void print_factor(const struct printer *p, const struct al_polynomial_factor *factor,
	unsigned long exponent)
{
	if (!p->is_latex && factor->name)
		al_text_add(p->out, factor->name);
	else if (factor->op == AL_OP_SYMBOL)
		print_symbol(p, factor, exponent > 1);
	else
		print_opaque(p, factor, exponent > 1);
	if (exponent > 1)
		al_text_addf(p->out, p->is_latex ? "^{%lu}" : "^%lu", exponent);
}

/* ---- terms ---- */

/* A positive rational. */
static void print_coefficient(const struct printer *p, const fmpq_t value)
{
	bool is_whole = fmpz_is_one(fmpq_denref(value));
	char *above = fmpz_get_str(NULL, 10, fmpq_numref(value));
	char *below = fmpz_get_str(NULL, 10, fmpq_denref(value));

	if (is_whole)
		al_text_add(p->out, above);
	else
		al_text_addf(p->out, p->is_latex ? "\\frac{%s}{%s}" : "%s/%s", above, below);
	flint_free(above);
	flint_free(below);
}

static void print_term(const struct printer *p, const struct al_terms *terms, slong i,
	const fmpq_t coefficient)
{
	bool is_alone = true; /* nothing is before the next factor */

	if (!fmpq_is_one(coefficient)) {
		print_coefficient(p, coefficient);
		is_alone = false;
	}
	for (size_t f = 0; f < terms->n_factors; f++) {
		ulong exponent = fmpq_mpoly_get_term_var_exp_ui(terms->value, i, (slong)f,
			terms->ctx);
		if (!exponent)
			continue;
		al_text_add(p->out, is_alone ? "" : p->is_latex ? " " : "*");
		print_factor(p, terms->factors[f], exponent);
		is_alone = false;
	}
	if (is_alone)
		al_text_add(p->out, "1");
}

static void print_terms(const struct printer *p, const struct al_terms *terms)
{
	slong n = fmpq_mpoly_length(terms->value, terms->ctx);
	fmpq_t coefficient;

	fmpq_init(coefficient);
	for (slong i = 0; i < n && !is_full(p); i++) {
		fmpq_mpoly_get_term_coeff_fmpq(coefficient, terms->value, i, terms->ctx);
		bool is_negative = fmpq_sgn(coefficient) < 0;
		if (i > 0)
			al_text_add(p->out, is_negative ? " - " : " + ");
		else if (is_negative)
			al_text_add(p->out, "-");
		fmpq_abs(coefficient, coefficient);
		print_term(p, terms, i, coefficient);
	}
	if (n == 0)
		al_text_add(p->out, "0");
	fmpq_clear(coefficient);
}

void al_terms_text(const struct al_terms *terms, struct al_text *out, size_t limit)
{
	print_terms(&(struct printer){.out = out, .limit = limit}, terms);
}

void al_factor_text(const struct al_polynomial_factor *factor, struct al_text *out, size_t limit)
{
	print_factor(&(struct printer){.out = out, .limit = limit}, factor, 1);
}

/* ---- conditions and cases ---- */

static void print_condition(const struct printer *p, const struct al_condition *condition,
	bool holds)
{
	enum al_operator op = holds ? condition->op : al_operators[condition->op].opposite;
	const struct al_operator_info *info = &al_operators[op];

	print_terms(p, condition->left);
	al_text_addf(p->out, " %s ", p->is_latex && info->latex ? info->latex : info->text);
	if (!condition->word) {
		print_terms(p, condition->right);
		return;
	}
	al_text_add(p->out, p->is_latex ? "\\mathrm{" : "'");
	if (p->is_latex)
		add_escaped(p->out, condition->word);
	else
		al_text_add(p->out, condition->word);
	al_text_add(p->out, p->is_latex ? "}" : "'");
}

void al_condition_text(const struct al_condition *condition, bool holds, struct al_text *out,
	size_t limit)
{
	print_condition(&(struct printer){.out = out, .limit = limit}, condition, holds);
}

/* The conditions on the way to a leaf. */
struct path {
	const struct path *before;
	const struct al_condition *condition;
	bool holds;
};

static void print_path(const struct printer *p, const struct path *path)
{
	if (path->before) {
		print_path(p, path->before);
		al_text_add(p->out, p->is_latex ? " \\text{ and } " : " and ");
	}
	print_condition(p, path->condition, path->holds);
}

static void print_leaf(const struct printer *p, const struct al_cases *leaf,
	const struct path *path, bool is_last)
{
	print_terms(p, leaf->terms);
	if (!path)
		return;
	if (p->is_latex)
		al_text_add(p->out, is_last ? " & \\text{otherwise}" : " & \\text{if } ");
	else
		al_text_add(p->out, is_last ? " otherwise" : " if ");
	if (is_last)
		return;
	print_path(p, path);
	al_text_add(p->out, p->is_latex ? " \\\\ " : "; ");
}

static void print_cases(const struct printer *p, const struct al_cases *cases,
	const struct path *path, bool is_last)
{
	if (!cases->condition) {
		print_leaf(p, cases, path, is_last);
		return;
	}
	struct path then = {path, cases->condition, true},
		    otherwise = {path, cases->condition, false};
	print_cases(p, cases->then, &then, false);
	print_cases(p, cases->otherwise, &otherwise, is_last);
}

void al_polynomial_text(const struct al_polynomial *polynomial, struct al_text *out)
{
	print_cases(&(struct printer){.out = out}, polynomial->cases, NULL, true);
}

void al_polynomial_latex(const struct al_polynomial *polynomial,
	const char *(*name_of)(void *context, const char *symbol), void *context,
	struct al_text *out)
{
	struct printer printer = {.out = out,
		.is_latex = true,
		.name_of = name_of,
		.context = context};
	const struct al_cases *cases = polynomial->cases;

	al_text_add(out, cases->condition ? "\\begin{cases} " : "");
	print_cases(&printer, cases, NULL, true);
	al_text_add(out, cases->condition ? " \\end{cases}" : "");
}
