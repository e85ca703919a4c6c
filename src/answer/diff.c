/* diff: why two answers differ. One setting after the other of the first question becomes that of
 * the second; the differences of the answers in between add up to the whole one. */
#include "answer/question.h"

#include "report/claim.h"

struct diff_options {
	struct al_output_options output;
};

static const struct al_option_group groups[] = {OUTPUT_GROUPS, {NULL, 0}};

/* ---- what they differ in ---- */

/* An option, or a symbol of --set; row NULL: the words. */
struct setting {
	const struct al_option_row *row;
	const char *symbol; /* NULL: the whole option */
};

/* What the command lines have of a setting: "", "--tp 8", "--set d_ff=64". */
struct change {
	struct setting setting;
	const char *from, *to;
};

struct diff {
	struct al_session *session;
	struct al_question before, after;
	struct change *changes;
	size_t n_changes, room;
};

static struct setting setting_of(struct al_arena *arena, const struct al_given_option *given)
{
	const bool is_list = given->row->kind == OPTION_IS_LIST;

	return (struct setting){given->row,
		is_list ? al_strndup(arena, given->value, strcspn(given->value, "=")) : NULL};
}

static bool are_equal(const struct setting *a, const struct setting *b)
{
	return a->row == b->row && (!a->symbol || (b->symbol && strcmp(a->symbol, b->symbol) == 0));
}

static void add_given(struct al_text *out, struct al_arena *arena,
	const struct al_given_option *given)
{
	al_text_addf(out, "%s--%s", out->length ? " " : "", given->row->name);
	if (given->value)
		al_text_addf(out, " %s", al_shell_word(arena, given->value));
}

static const char *text_of(struct al_arena *arena, const struct al_command_line *line,
	const struct setting *setting)
{
	AL_TEXT(text);
	for (size_t i = 0; !setting->row && i < line->n_words; i++)
		al_text_addf(&text, "%s%s", i ? " " : "", al_shell_word(arena, line->words[i]));
	for (size_t i = 0; setting->row && i < line->n_given; i++) {
		const struct setting given = setting_of(arena, &line->given[i]);
		if (are_equal(setting, &given))
			add_given(&text, arena, &line->given[i]);
	}
	return al_strdup(arena, text.data ? text.data : "");
}

static void note_change(struct diff *d, struct setting setting)
{
	struct al_arena *arena = &d->session->arena;
	const struct change change = {setting, text_of(arena, &d->before.line, &setting),
		text_of(arena, &d->after.line, &setting)};

	for (size_t i = 0; i < d->n_changes; i++)
		if (are_equal(&d->changes[i].setting, &setting))
			return;
	if (strcmp(change.from, change.to) != 0
		&& !(setting.row && al_option_is_common(setting.row)))
		*AL_APPEND(arena, d->changes, d->n_changes, d->room) = change;
}

/* Settings in the order in which the second question gives them, then those it lacks. */
static void find_changes(struct diff *d)
{
	struct al_arena *arena = &d->session->arena;

	note_change(d, (struct setting){NULL, NULL});
	for (size_t i = 0; i < d->after.line.n_given; i++)
		note_change(d, setting_of(arena, &d->after.line.given[i]));
	for (size_t i = 0; i < d->before.line.n_given; i++)
		note_change(d, setting_of(arena, &d->before.line.given[i]));
}

/* ---- answers in between ---- */

struct number {
	mpq_srcptr value;
	bool is_bytes;
	const struct al_table *table; /* with its cell; NULL: it is none's */
	const char *key;
};

/* The question that a setting is taken from. */
static const struct al_command_line *line_of(const struct diff *d, const struct setting *setting,
	size_t n_changed)
{
	for (size_t i = n_changed; i < d->n_changes; i++)
		if (are_equal(&d->changes[i].setting, setting))
			return &d->before.line;
	return &d->after.line;
}

struct words {
	struct al_arena *arena;
	char **items;
	size_t n, room;
};

static void add_word(struct words *words, const char *word)
{
	*AL_APPEND(words->arena, words->items, words->n, words->room) = al_strdup(words->arena,
		word);
}

static void add_options(const struct diff *d, struct words *out, const struct al_command_line *from,
	size_t n_changed)
{
	for (size_t i = 0; i < from->n_given; i++) {
		const struct al_given_option *given = &from->given[i];
		const struct setting setting = setting_of(out->arena, given);
		if (line_of(d, &setting, n_changed) != from || al_option_is_common(given->row))
			continue;
		add_word(out, al_format(out->arena, "--%s", given->row->name));
		if (given->value)
			add_word(out, given->value);
	}
}

/* The first question with its first `n_changed` settings as in the second, without the command. */
static char **words_after(const struct diff *d, size_t n_changed)
{
	const struct setting subject = {NULL, NULL};
	const struct al_command_line *line = line_of(d, &subject, n_changed);
	struct words words = {.arena = &d->session->arena};

	for (size_t i = 0; i < line->n_words; i++)
		add_word(&words, line->words[i]);
	add_options(d, &words, &d->before.line, n_changed);
	add_options(d, &words, &d->after.line, n_changed);
	*AL_APPEND(words.arena, words.items, words.n, words.room) = NULL;
	return words.items;
}

static bool read_lead(struct al_arena *arena, const struct al_session *asked, struct number *out,
	struct al_error *err)
{
	const struct al_answer_value *lead = asked->claim.lead;
	mpq_ptr value = al_exact_new(arena);
	int digits;

	*out = (struct number){.value = value};
	if (!lead || !lead->is_number || !al_exact_parse(lead->value, value, &digits))
		return al_fail(err, AL_EINPUT, "its answer isn't one number");
	out->is_bytes = strcmp(lead->unit, "B") == 0;
	out->key = lead->key;
	for (size_t i = 0; lead->key && i < asked->n_tables; i++)
		if (strcmp(asked->tables[i]->id, lead->table) == 0)
			out->table = asked->tables[i];
	return true;
}

/* The answer with the first settings changed; its tables live as long as the session. */
static bool ask(struct diff *d, size_t n_changed, struct number *out, struct al_error *err)
{
	struct al_arena *arena = &d->session->arena;
	struct al_session *asked;

	return al_question_ask(arena, &d->before, words_after(d, n_changed), &asked, err)
		&& read_lead(arena, asked, out, err);
}

/* ---- the answer ---- */

static const char no_setting[] = "(default)";

struct record {
	const char *from, *to, *part;
	mpq_srcptr before, after, change;
};

#define NUMBERS(show) \
	{show(struct record, before, "Before")}, {show(struct record, after, "After")}, \
	{ \
		show(struct record, change, "Change") \
	}
#define CAUSES(show) \
	{AL_SHOW_KEY(struct record, from, "From")}, {AL_SHOW_KEY(struct record, to, "To")}, \
		NUMBERS(show), AL_FIELDS_END
#define PARTS(show) {AL_SHOW_KEY(struct record, part, "Part")}, NUMBERS(show), AL_FIELDS_END

static const struct al_table_field byte_causes[] = {CAUSES(AL_SHOW_BYTES)},
				   count_causes[] = {CAUSES(AL_SHOW_COUNT)},
				   byte_parts[] = {PARTS(AL_SHOW_BYTES)},
				   count_parts[] = {PARTS(AL_SHOW_COUNT)};

static mpq_srcptr subtract(struct al_arena *arena, mpq_srcptr a, mpq_srcptr b)
{
	mpq_ptr difference = al_exact_new(arena);

	mpq_sub(difference, a, b);
	return difference;
}

static void add_cause(struct diff *d, struct al_table *table, size_t first, size_t end,
	const struct number *before, const struct number *after)
{
	AL_TEXT(from);
	AL_TEXT(to);
	for (size_t i = first; i < end; i++) {
		const struct change *change = &d->changes[i];
		al_text_addf(&from, "%s%s", from.length && *change->from ? " " : "", change->from);
		al_text_addf(&to, "%s%s", to.length && *change->to ? " " : "", change->to);
	}
	al_table_add_record(table,
		&(struct record){.from = *from.data ? from.data : no_setting,
			.to = *to.data ? to.data : no_setting,
			.before = before->value,
			.after = after->value,
			.change = subtract(&table->arena, after->value, before->value)});
}

/* A setting with which the question has no answer changes together with the next one. */
static bool add_causes(struct diff *d, struct al_table *table, const struct number *first,
	struct number *last, struct al_error *err)
{
	struct number before = *first;
	size_t begin = 0;

	for (size_t i = 0; i < d->n_changes; i++) {
		const bool is_last = i + 1 == d->n_changes;
		struct al_error unanswered = {0};
		struct number after;
		if (!ask(d, i + 1, &after, is_last ? err : &unanswered)) {
			if (is_last)
				return false;
			continue;
		}
		add_cause(d, table, begin, i + 1, &before, &after);
		begin = i + 1;
		before = after;
	}
	*last = before;
	return true;
}

/* NULL: the table has no such row. */
static mpq_srcptr find_part(struct al_arena *arena, const struct number *number, const char *name)
{
	for (size_t i = 0; i < number->table->n_rows; i++)
		if (strcmp(al_table_row_name(arena, number->table, i), name) == 0)
			return al_cell_exact(number->table, i, number->key);
	return NULL;
}

static void add_part(struct al_table *table, const char *name, mpq_srcptr before, mpq_srcptr after)
{
	mpq_srcptr none = al_exact_from_int(&table->arena, 0);

	before = before ? before : none;
	after = after ? after : none;
	al_table_add_record(table,
		&(struct record){.part = name,
			.before = before,
			.after = after,
			.change = subtract(&table->arena, after, before)});
}

/* The rows of the answers' table, where it has several; those of the second alone come first, so
 * that the total stays last. */
static void add_parts(struct diff *d, const struct number *first, const struct number *last)
{
	struct al_arena *arena = &d->session->arena;

	if (!first->table || !last->table || first->table->n_rows < 2)
		return;
	struct al_table *table = al_session_table(d->session, "parts",
		first->is_bytes ? byte_parts : count_parts, 0, "By part");
	for (size_t i = 0; i < last->table->n_rows; i++) {
		const char *name = al_table_row_name(arena, last->table, i);
		if (!find_part(arena, first, name))
			add_part(table, name, NULL, al_cell_exact(last->table, i, last->key));
	}
	for (size_t i = 0; i < first->table->n_rows; i++) {
		const char *name = al_table_row_name(arena, first->table, i);
		add_part(table, name, al_cell_exact(first->table, i, first->key),
			find_part(arena, last, name));
	}
	if (first->table->rows[first->table->n_rows - 1][0].is_total)
		al_table_mark_total(table);
}

static const char *number_text(struct al_arena *arena, const char *name, mpq_srcptr value,
	bool is_bytes)
{
	return is_bytes ? al_claim_bytes(arena, name, value) : al_claim_exact(arena, name, value);
}

static size_t largest_cause(const struct al_table *causes)
{
	size_t found = 0;
	double most = -1;

	for (size_t i = 0; i < causes->n_rows; i++) {
		const double size = fabs(mpq_get_d(al_cell_exact(causes, i, "change")));
		if (size > most)
			found = i;
		most = fmax(most, size);
	}
	return found;
}

static bool is_default(const struct al_table *causes, size_t row, const char *key)
{
	return strcmp(al_table_text(causes, row, key), no_setting) == 0;
}

static const char *say_cause(struct al_arena *arena, const struct al_table *causes, size_t row)
{
	const char *from = al_claim_cell(arena, causes, row, "from"),
		   *to = al_claim_cell(arena, causes, row, "to");

	return is_default(causes, row, "from") ? al_format(arena, ", most of it because of %s", to)
		: is_default(causes, row, "to")
		? al_format(arena, ", most of it because %s is left out", from)
		: al_format(arena, ", most of it because %s becomes %s", from, to);
}

static const char *say(struct diff *d, const struct al_table *causes, const struct number *first,
	const struct number *last)
{
	struct al_arena *arena = &d->session->arena;
	mpq_ptr change = al_exact_new(arena);

	mpq_sub(change, last->value, first->value);
	const int sign = mpq_sgn(change);
	const char *before = number_text(arena, "before", first->value, first->is_bytes),
		   *after = number_text(arena, "after", last->value, last->is_bytes);
	mpq_abs(change, change);
	if (sign == 0)
		return al_format(arena, "Both answers are %s.", before);
	return al_format(arena, "The second answer is %s, the first %s: " AL_CLAIM_LEAD "%s %s%s.",
		after, before, number_text(arena, "change", change, first->is_bytes),
		sign > 0 ? "more" : "less",
		causes && causes->n_rows > 1 ? say_cause(arena, causes, largest_cause(causes))
					     : "");
}

static bool run(struct al_session *session, struct al_error *err)
{
	struct diff d = {.session = session};
	struct number first, last;

	if (!al_question_read(&session->arena, session->line.words[0], &d.before, err)
		|| !al_question_read(&session->arena, session->line.words[1], &d.after, err))
		return false;
	if (d.before.command != d.after.command)
		return al_fail(err, AL_EINPUT, "%s and %s are different questions", d.before.name,
			d.after.name);
	find_changes(&d);
	if (!ask(&d, 0, &first, err))
		return al_in(err, "%s", d.before.text);
	last = first;
	struct al_table *table = d.n_changes == 0
		? NULL
		: al_session_table(session, "causes", first.is_bytes ? byte_causes : count_causes,
			0, "Why they differ, one setting after the other");
	if (table && !add_causes(&d, table, &first, &last, err))
		return al_in(err, "%s", d.after.text);
	al_session_claim(session, say(&d, table, &first, &last));
	add_parts(&d, &first, &last);
	return true;
}

const struct al_command al_command_diff = {
	.words = "QUESTION QUESTION",
	.examples = {"diff \"memory llama-3-8b\" \"memory llama-3-8b --engine vllm --tp 2\"",
		"diff \"cache deepseek-v3\" \"cache llama-3-70b --cache-dtype fp8\""},
	.options = groups,
	.options_size = sizeof(struct diff_options),
	.run = run,
};
