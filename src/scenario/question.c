/* Questions: other commands' answers, each asked for the given number as printed and for both ends
 * of what rounds to it. */
#include "scenario/cell.h"

enum { AT_VALUE, AT_LOW, AT_HIGH, N_PLACES };

/* A number of the answers, as a datum that goes from the one at the low to the one at the high
 * end. */
struct number {
	struct number *next;
	const char *path;
	struct al_datum datum;
};

struct al_answered {
	bool is_asked;
	struct al_scenario_answer places[N_PLACES];
	struct number *numbers;
};

/* ---- asking ---- */

/* The question with the number in place of its "{}". */
static const char *fill(struct al_arena *arena, const struct al_scenario_question *question,
	mpq_srcptr number, int digits)
{
	const char *place = strstr(question->ask, "{}");

	return al_format(arena, "%.*s%s%s", (int)(place - question->ask), question->ask,
		al_exact_decimal(arena, number, digits), place + 2);
}

static bool ask_at(struct al_evaluator *evaluator, const struct al_scenario_question *question,
	int place, struct al_scenario_answer *out, struct al_error *err)
{
	al_scenario_asker *ask = evaluator->scenario->ask;
	struct al_arena *arena = evaluator->arena;
	const char *text = question->ask;
	mpq_ptr at = al_exact_new(arena), half = al_exact_new(arena);

	if (question->given) {
		al_exact_unit(half, question->digits, 2);
		mpq_set(at, question->value);
		if (place != AT_VALUE)
			(place == AT_LOW ? mpq_sub : mpq_add)(at, at, half);
		text = fill(arena, question, at, question->digits + (place != AT_VALUE));
	}
	if (!ask)
		return al_fail(err, AL_EINPUT, "nothing here answers the question \"%s\"", text);
	return ask(arena, text, out, err) || al_in(err, "%s", text);
}

/* The question at all its places, once. */
static bool ask(struct al_evaluator *evaluator, const struct al_scenario_question *question,
	struct al_answered *answered, struct al_error *err)
{
	const int n = question->given ? N_PLACES : 1;

	for (int i = 0; !answered->is_asked && i < n; i++)
		if (!ask_at(evaluator, question, i, &answered->places[i], err))
			return false;
	for (int i = n; i < N_PLACES; i++)
		answered->places[i] = answered->places[AT_VALUE];
	answered->is_asked = true;
	return true;
}

/* ---- reading an answer ---- */

static bool read_name(const struct al_scenario_answer *answer, const char *name, mpq_ptr out,
	struct al_error *err)
{
	const struct al_answer_value *value = al_find_known(answer->values, answer->n_values,
		sizeof(*answer->values), "number of the answer", name, err);
	int digits;

	return value
		&& ((value->is_number && al_exact_parse(value->value, out, &digits))
			|| al_fail(err, AL_EINPUT, "\"%s\" of the answer is no number", name));
}

static bool read_cell(struct al_arena *arena, const struct al_scenario_answer *answer,
	const char *row, const char *column, mpq_ptr out, struct al_error *err)
{
	for (size_t i = 0; i < answer->n_tables; i++) {
		const struct al_table *table = answer->tables[i];
		const int found = al_table_find_column(table, column);
		for (size_t j = 0; found >= 0 && j < table->n_rows; j++)
			if (strcmp(al_table_row_name(arena, table, j), row) == 0
				&& table->rows[j][found].kind == AL_CELL_EXACT) {
				mpq_set(out, table->rows[j][found].exact);
				return true;
			}
	}
	return al_fail(err, AL_EINPUT, "no table of the answer has a number at \"%s/%s\"", row,
		column);
}

static bool read_number(struct al_arena *arena, const struct al_scenario_answer *answer,
	const char *const *names, size_t n, mpq_ptr out, struct al_error *err)
{
	if (n == 1)
		return read_name(answer, names[0], out, err);
	if (n == 2)
		return read_cell(arena, answer, names[0], names[1], out, err);
	return al_fail(err, AL_EINPUT, "expected \"QUESTION/NUMBER\" or \"QUESTION/ROW/COLUMN\"");
}

/* ---- as a datum ---- */

static bool read_datum(struct al_arena *arena, const struct al_answered *answered,
	const char *const *names, size_t n, struct al_datum *out, struct al_error *err)
{
	mpq_ptr at[N_PLACES];

	for (int i = 0; i < N_PLACES; i++) {
		at[i] = al_exact_new(arena);
		if (!read_number(arena, &answered->places[i], names, n, at[i], err))
			return false;
	}
	*out = (struct al_datum){.printed = "", .value = at[AT_VALUE]};
	const bool rises = mpq_cmp(at[AT_LOW], at[AT_HIGH]) <= 0;
	out->low = at[rises ? AT_LOW : AT_HIGH];
	out->high = at[rises ? AT_HIGH : AT_LOW];
	return true;
}

/* One datum for each path: the box of a claim's data knows them by their place in memory. */
static bool find_datum(struct al_arena *arena, struct al_answered *answered,
	const char *const *names, size_t n, const struct al_datum **out, struct al_error *err)
{
	const char *path = "";

	for (size_t i = 0; i < n; i++)
		path = al_format(arena, "%s/%s", path, names[i]);
	for (struct number *i = answered->numbers; i; i = i->next)
		if (strcmp(i->path, path) == 0) {
			*out = &i->datum;
			return true;
		}
	struct number *number = al_new(arena, struct number);
	number->path = path;
	if (!read_datum(arena, answered, names, n, &number->datum, err))
		return false;
	number->next = answered->numbers;
	answered->numbers = number;
	*out = &number->datum;
	return true;
}

bool al_question_value(struct al_evaluator *evaluator, const struct al_scenario_question *question,
	const char *const *names, size_t n, struct al_data_box *box, struct al_scenario_cell *out,
	struct al_error *err)
{
	const struct al_scenario *s = evaluator->scenario;
	const struct al_datum *datum;

	if (!evaluator->answers)
		evaluator->answers = al_new_array(evaluator->arena, struct al_answered,
			s->n_questions);
	struct al_answered *answered = &evaluator->answers[question - s->questions];
	return ask(evaluator, question, answered, err)
		&& find_datum(evaluator->arena, answered, names, n, &datum, err)
		&& al_scenario_cell_set_datum(out, box, datum, err);
}
