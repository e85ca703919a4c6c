/* Mathematics within a text. */
#include "report/latex_grid.h"

#include "base/symbol.h"

/* ---- symbols ---- */

/* A subscript: "O", "{12}", "\mathrm{kv\,heads}". */
static void add_lower(struct al_text *out, const char *p, size_t n)
{
	if (n == 1) {
		al_text_add_bytes(out, p, 1);
		return;
	}
	al_text_add(out, "\\mathrm{");
	for (size_t i = 0; i < n; i++)
		if (p[i] == '_')
			al_text_add(out, "\\,");
		else
			al_text_add_bytes(out, p + i, 1);
	al_text_add(out, "}");
}

static void add_symbol(struct al_text *out, const char *p, size_t n)
{
	al_text_add_bytes(out, p, 2);
	add_lower(out, p + 2, n - 2);
}

/* "d_model x d_model" is one formula. */
static const char *add_product(struct al_text *out, const char *text, const char *p, size_t n)
{
	al_text_add(out, "$");
	add_symbol(out, p, n);
	p += n;
	while (strncmp(p, " x ", 3) == 0 && (n = al_symbol_length(text, p + 3)) > 0) {
		al_text_add(out, " \\times ");
		add_symbol(out, p + 3, n);
		p += 3 + n;
	}
	al_text_add(out, "$");
	return p;
}

/* ---- between dollar signs ---- */

/* The end of one operand: a character, or a group of letters, digits and spaces. */
static const char *operand_end(const char *p)
{
	if (*p != '{')
		return al_is_letter(*p) || al_is_digit(*p) ? p + 1 : NULL;
	for (p++; al_is_letter(*p) || al_is_digit(*p) || *p == ' ' || *p == ','; p++)
		continue;
	return *p == '}' && p[-1] != '{' ? p + 1 : NULL;
}

/* Letters, digits, operators, one "_" and one "^" at each: nothing that a stranger's text could
 * make LaTeX do. */
static bool is_formula(const char *p, const char *end)
{
	bool has_lower = true, has_upper = true; /* there is nothing to set a subscript at */

	if (p == end || *p == ' ' || end[-1] == ' ')
		return false;
	while (p < end) {
		bool *has = *p == '_' ? &has_lower : *p == '^' ? &has_upper : NULL;
		if (has) {
			const char *after = operand_end(p + 1);
			if (*has || !after || after > end)
				return false;
			*has = true;
			p = after;
			continue;
		}
		const bool can_have = al_is_letter(*p) || al_is_digit(*p) || *p == ')';
		if (!can_have && !strchr(" +-*/=(),.", *p))
			return false;
		has_lower = has_upper = !can_have;
		p++;
	}
	return true;
}

/* A word is set upright, as one name. */
static const char *add_word(struct al_text *out, const char *p)
{
	size_t n = 0;

	while (al_is_letter(p[n]))
		n++;
	if (n > 1)
		al_text_add(out, "\\mathrm{");
	al_text_add_bytes(out, p, al_most(n, 1));
	al_text_add(out, n > 1 ? "}" : "");
	return p + al_most(n, 1);
}

static const char *add_moved(struct al_text *out, const char *p)
{
	const char *end = operand_end(p + 1);

	al_text_add_bytes(out, p, 1);
	if (p[1] != '{') {
		al_text_add_bytes(out, p + 1, 1);
		return end;
	}
	al_text_add(out, "{");
	for (p += 2; p < end - 1;)
		p = add_word(out, p);
	al_text_add(out, "}");
	return end;
}

static void add_formula(struct al_text *out, const char *p, const char *end)
{
	al_text_add(out, "$");
	while (p < end)
		p = *p == '_' || *p == '^' ? add_moved(out, p) : add_word(out, p);
	al_text_add(out, "$");
}

const char *al_latex_add_math(struct al_text *out, const char *text, const char *p)
{
	const size_t n = al_symbol_length(text, p);
	const char *end = *p == '$' ? strchr(p + 1, '$') : NULL;

	if (n > 0)
		return add_product(out, text, p, n);
	if (!end || !is_formula(p + 1, end))
		return p;
	add_formula(out, p + 1, end);
	return end + 1;
}
