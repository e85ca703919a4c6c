/* Cells of a table into data and claims; columns of scores into metrics. */

#include "paper/binder.h"
#include "scenario/printed.h"

/* ---- metrics: columns of scores, and which of them others are made of ---- */

static bool is_score(const struct al_paper_column *column)
{
	return column->kind == AL_PAPER_SCORE || column->kind == AL_PAPER_LOSS;
}

/* Another variant's column next to those of the last metric belongs to that metric, too. */
static bool goes_on(const struct al_binder *b, size_t at)
{
	const struct al_paper_column *columns = b->binding->columns, *column = &columns[at];
	const size_t last = b->n_metrics - 1;

	if (b->n_metrics == 0 || !is_score(&columns[at - 1]) || !column->variant)
		return false;
	for (size_t i = at; i-- > 0 && is_score(&columns[i]) && b->metric_of[i] == last;)
		if (!columns[i].variant || strcmp(columns[i].variant, column->variant) == 0)
			return false;
	return b->metrics[last].is_loss == (column->kind == AL_PAPER_LOSS);
}

void al_binder_find_metrics(struct al_binder *b)
{
	const struct al_paper_binding *binding = b->binding;

	b->metrics = al_new_array(b->arena, struct al_metric, binding->n_columns + 1);
	b->metric_of = al_new_array(b->arena, size_t, binding->n_columns + 1);
	b->n_metrics = 0;
	for (size_t i = 0; i < binding->n_columns; i++) {
		if (!is_score(&binding->columns[i]))
			continue;
		if (!goes_on(b, i)) {
			struct al_metric *metric = &b->metrics[b->n_metrics++];
			metric->is_loss = binding->columns[i].kind == AL_PAPER_LOSS;
			metric->name = al_format(b->arena, "t%lldm%zu", (long long)binding->table,
				b->n_metrics);
			al_text_init(&metric->rows);
		}
		b->metric_of[i] = b->n_metrics - 1;
	}
}

static const struct al_metric *nearest(const struct al_binder *b, size_t column,
	const char *variant)
{
	while (column-- > 0) {
		const struct al_paper_column *left = &b->binding->columns[column];
		if (is_score(left) && (!left->variant || strcmp(left->variant, variant) == 0))
			return &b->metrics[b->metric_of[column]];
	}
	return NULL;
}

/* ---- lists ---- */

const char *al_list_comma(const struct al_text *list)
{
	return list->length ? "," : "";
}

const char *al_binder_quote(const struct al_binder *b, const char *text)
{
	AL_TEXT(quoted);

	al_json_quote(&quoted, text);
	return al_strdup(b->arena, quoted.data);
}

void al_list_add_text(struct al_text *list, const char *text)
{
	al_text_add(list, al_list_comma(list));
	al_json_quote(list, text);
}

void al_paper_findings_add(struct al_paper_findings *findings, struct al_paper_finding finding)
{
	finding.place = findings->n;
	*AL_APPEND(findings->arena, findings->items, findings->n, findings->room) = finding;
}

void al_binder_add_gap(struct al_binder *b, size_t line, const char *why)
{
	al_paper_findings_add(&b->bound->gaps,
		(struct al_paper_finding){.line = line, .note = why});
}

bool al_binder_counts(const struct al_binder *b, const char *variant)
{
	const struct al_variant *found;

	return strcmp(variant, AL_OWN_ATTENTION) == 0
		|| al_catalog_variant(b->subjects->catalog, variant, &found, NULL);
}

/* ---- claims ---- */

struct al_paper_site *al_binder_begin_claim(struct al_binder *b, size_t line, const char *printed,
	const char *unit)
{
	struct al_bound *bound = b->bound;

	al_text_addf(b->claims, "%s{\"id\":\"line %zu (%zu)\",\"printed\":%s",
		al_list_comma(b->claims), b->paper->lines[line - 1].number, bound->n_sites,
		al_binder_quote(b, printed));
	if (unit)
		al_text_addf(b->claims, ",\"unit\":%s", al_binder_quote(b, unit));
	struct al_paper_site *site = AL_APPEND(b->arena, bound->sites, bound->n_sites,
		bound->sites_room);
	*site = (struct al_paper_site){.line = line, .printed = printed, .unit = unit};
	return site;
}

void al_binder_end_claim(struct al_binder *b, const char *value)
{
	al_text_addf(b->claims, ",\"value\":%s}", al_binder_quote(b, value));
}

static const char *path_to(struct al_binder *b, const char *variant, const char *key)
{
	return al_format(b->arena, "%s/%s/%s/%s", b->binding->id, b->case_, variant, key);
}

/* ---- cells ---- */

static bool has_digit(const char *text)
{
	return strpbrk(text, "0123456789") != NULL;
}

static bool is_number(const char *text, bool *has_unit)
{
	struct al_printed printed;
	AL_ARENA(arena);

	const bool is = al_printed_parse(&printed, &arena, text);
	*has_unit = is && printed.unit;
	return is;
}

static bool is_decimal(const char *text)
{
	int digits;
	AL_ARENA(arena);

	return al_exact_parse(text, al_exact_new(&arena), &digits);
}

static void add_unread(struct al_binder *b, size_t column, const char *text)
{
	al_binder_add_gap(b, b->row->line,
		al_format(b->arena, "\"%s\" in column %zu is not a readable number", text,
			column + 1));
}

static void add_datum(struct al_binder *b, struct al_metric *metric, const char *variant,
	const char *text)
{
	al_text_addf(&metric->rows, "%s[\"%s\",%s,%s]", al_list_comma(&metric->rows), b->case_,
		al_binder_quote(b, variant), al_binder_quote(b, text));
	b->bound->n_data++;
}

/* "80.5 -", "80.5 (-)": no number in brackets. */
static void cut_dash(char *number)
{
	static const char *const dashes[] = {" -", "(-)", " \u2013", " \u2014"};

	for (size_t i = 0; i < sizeof(dashes) / sizeof(*dashes); i++)
		if (al_ends_with(number, dashes[i])) {
			size_t n = strlen(number) - strlen(dashes[i]);
			while (n > 0 && number[n - 1] == ' ')
				n--;
			number[n] = '\0';
		}
}

static void bind_score(struct al_binder *b, const struct al_paper_column *column, size_t at,
	const char *text, const char *variant)
{
	struct al_metric *metric = &b->metrics[b->metric_of[at]];
	char *number = al_strdup(b->arena, text);

	cut_dash(number);
	const char *bracket = al_spread_cut(number);
	if (!has_digit(text))
		return;
	if (!is_decimal(number) || (bracket && has_digit(bracket) && !is_decimal(bracket))) {
		add_unread(b, at, text);
		return;
	}
	add_datum(b, metric, variant, number);
	if (!column->has_peop || !bracket || !has_digit(bracket))
		return;
	al_binder_begin_claim(b, b->row->line, bracket, NULL);
	al_binder_end_claim(b, path_to(b, variant, al_format(b->arena, "peop:%s", metric->name)));
}

/* A row has as many scores as there are metrics at the left. */
static void bind_mean(struct al_binder *b, size_t at, const char *text, const char *variant)
{
	size_t n = 0;
	AL_TEXT(sum);

	for (size_t i = 0; i < at; i++)
		if (is_score(&b->binding->columns[i]))
			n = b->metric_of[i] + 1;

	al_binder_begin_claim(b, b->row->line, text, NULL);
	al_text_add(b->claims, ",\"with\":{");
	for (size_t i = 0; i < n; i++) {
		al_text_addf(&sum, "%sm%zu", i ? "+" : "(", i + 1);
		al_text_addf(b->claims, "%s\"m%zu\":\"%s-%s/%s/%s/%s\"", i ? "," : "", i + 1,
			b->binding->id, b->metrics[i].name, b->case_, variant, b->metrics[i].name);
	}
	al_text_add(b->claims, "}");
	al_binder_end_claim(b, al_format(b->arena, "%s)/%zu", sum.data, n));
}

/* A polynomial or an order of growth, whose spaces mean nothing. */
static void bind_polynomial(struct al_binder *b, const struct al_paper_column *column,
	const char *text, const char *variant)
{
	static const char *const keys[] = {"symbols"};
	const char *printed = al_paper_without(b->arena, text, ' ');

	if (!*printed)
		return;
	al_binder_begin_claim(b, b->row->line, printed, NULL);
	if (strcmp(column->key, "order") != 0)
		al_paper_map_keep(b->binding->node, keys, 1, b->claims);
	al_binder_end_claim(b, path_to(b, variant, column->key));
}

static bool is_polynomial(const struct al_paper_column *column)
{
	static const char *const keys[] = {"order", "formula", "difference"};

	return al_find_name(column->key, keys, 3) >= 0;
}

static void bind_number(struct al_binder *b, const struct al_paper_column *column, size_t at,
	const char *text, const char *variant)
{
	const struct al_metric *metric = nearest(b, at, variant);
	const bool is_metric = column->kind == AL_PAPER_METRIC;
	bool has_unit;

	if (!has_digit(text))
		return;
	if (!is_number(text, &has_unit)
		|| ((is_metric || column->kind == AL_PAPER_MEAN) && !metric)) {
		add_unread(b, at, text);
		return;
	}
	if (column->kind == AL_PAPER_MEAN) {
		bind_mean(b, at, text, variant);
		return;
	}
	if (!al_binder_counts(b, variant) && !(is_metric && strcmp(column->key, "prr") == 0)) {
		al_binder_add_gap(b, b->row->line,
			al_format(b->arena, "%s: nothing is known of the variant \"%s\"", text,
				variant));
		return;
	}
	al_binder_begin_claim(b, b->row->line, text, has_unit ? NULL : column->unit)->is_of_ledger =
		!is_metric;
	al_binder_end_claim(b,
		path_to(b, variant,
			is_metric ? al_format(b->arena, "%s:%s", column->key, metric->name)
				  : column->key));
}

void al_binder_cell(struct al_binder *b, size_t at)
{
	const struct al_paper_column *column = &b->binding->columns[at];
	const char *variant = column->variant ? column->variant : b->variant;
	const char *whole = al_paper_row_text(b->row, at);
	const char *text = al_paper_part(b->arena, whole, b->part, b->n_parts);

	if (column->kind < AL_PAPER_SCORE)
		return;
	if (!text && has_digit(whole))
		add_unread(b, at, whole);
	if (text && !is_polynomial(column))
		text = al_paper_number(b->arena, text);
	if (!variant) {
		al_binder_add_gap(b, b->row->line,
			al_format(b->arena, "column %zu belongs to no variant", at + 1));
		return;
	}
	if (is_score(column))
		bind_score(b, column, at, text ? text : "", variant);
	else if (is_polynomial(column))
		bind_polynomial(b, column, text ? text : "", variant);
	else
		bind_number(b, column, at, text ? text : "", variant);
}
