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
	bool is_single = terms->n == 1
		&& (operand == DIVIDEND || terms->n_factors == 0
			|| (terms->n_factors == 1 && mpq_cmp_si(terms->content, 1, 1) == 0));
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
	unsigned exponent)
{
	if (!p->is_latex && factor->name)
		al_text_add(p->out, factor->name);
	else if (factor->op == AL_OP_SYMBOL)
		print_symbol(p, factor, exponent > 1);
	else
		print_opaque(p, factor, exponent > 1);
	if (exponent > 1)
		al_text_addf(p->out, p->is_latex ? "^{%u}" : "^%u", exponent);
}

/* ---- terms ---- */

static void print_coefficient(const struct printer *p, mpq_srcptr positive)
{
	AL_TEXT(text);

	al_text_add_exact(&text, positive);
	char *slash = p->is_latex ? strchr(text.data, '/') : NULL;
	if (slash)
		al_text_addf(p->out, "\\frac{%.*s}{%s}", (int)(slash - text.data), text.data,
			slash + 1);
	else
		al_text_add(p->out, text.data);
}

static void print_term(const struct printer *p, const struct al_terms *terms, size_t i,
	mpq_srcptr coefficient)
{
	bool is_alone = true; /* nothing is before the next factor */

	if (mpq_cmp_si(coefficient, 1, 1) != 0) {
		print_coefficient(p, coefficient);
		is_alone = false;
	}
	for (size_t f = 0; f < terms->n_factors; f++) {
		const unsigned exponent = al_terms_row(terms, i)[1 + f];
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
	AL_EXACT(coefficient);

	for (size_t i = 0; i < terms->n && !is_full(p); i++) {
		mpq_set_z(coefficient, &terms->coefficients[i]);
		mpq_mul(coefficient, coefficient, terms->content);
		bool is_negative = mpq_sgn(coefficient) < 0;
		if (i > 0)
			al_text_add(p->out, is_negative ? " - " : " + ");
		else if (is_negative)
			al_text_add(p->out, "-");
		mpq_abs(coefficient, coefficient);
		print_term(p, terms, i, coefficient);
	}
	if (terms->n == 0)
		al_text_add(p->out, "0");
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
