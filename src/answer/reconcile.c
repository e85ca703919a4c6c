/* reconcile: what a family expects of a checkpoint against what is stored. */
#include "answer/checkpoint.h"
#include "report/claim.h"
#include "model/heads/reconcile.h"

struct reconcile_options {
	struct al_output_options output;
	struct al_layout_options layout;
	bool shows_all;
};

static const struct al_option_row rows[] = {
	OPTION_FLAG(struct reconcile_options, shows_all, "tensors", "one row per tensor",
		.shows_all = true),
	OPTION_END,
};

static const struct al_option_group groups[] = {OUTPUT_GROUPS, {rows, 0},
	{al_layout_rows, offsetof(struct reconcile_options, layout)}, {NULL, 0}};

struct entry {
	const char *name, *part, *expected, *found, *difference;
	int64_t parameters, bytes;
};

static const struct al_table_field entry_fields[] = {
	{AL_SHOW_KEY(struct entry, name, "Tensor")},
	{AL_SHOW(struct entry, part, "Part")},
	{AL_SHOW(struct entry, expected, "Expected")},
	{AL_SHOW(struct entry, found, "Found")},
	{AL_SHOW(struct entry, difference, "Difference")},
	{AL_SHOW_COUNT(struct entry, parameters, "Parameters")},
	{AL_SHOW_BYTES(struct entry, bytes, "Stored")},
	AL_FIELDS_END,
};

static void add_entry(struct al_table *table, const struct al_reconciled *e)
{
	struct al_arena *arena = &table->arena;

	al_table_add_record(table,
		&(struct entry){.name = e->name,
			.part = e->part,
			.expected = e->expected ? al_shape_text(arena, e->expected, e->n_expected)
						: NULL,
			.found = e->found ? al_shape_text(arena, e->found->shape, e->found->n_dims)
					  : NULL,
			.difference = al_difference_names[e->difference],
			.parameters = e->found ? e->n_found_parameters : INT64_MIN,
			.bytes = e->found ? (int64_t)e->found->bytes : INT64_MIN});
}

/* Counts of one part, of unexpected tensors, or of all. */
struct sum {
	const char *part;
	int64_t expected_tensors, found_tensors, expected_parameters, found_parameters, bytes;
};

static const struct al_table_field sum_fields[] = {
	{AL_SHOW_KEY(struct sum, part, "Part")},
	{AL_SHOW_COUNT(struct sum, expected_tensors, "Tensors expected")},
	{AL_SHOW_COUNT(struct sum, found_tensors, "Found")},
	{AL_SHOW_COUNT(struct sum, expected_parameters, "Parameters expected")},
	{AL_SHOW_COUNT(struct sum, found_parameters, "Found")},
	{AL_SHOW_BYTES(struct sum, bytes, "Stored")},
	AL_FIELDS_END,
};

static bool add_to(int64_t *sum, int64_t n)
{
	return !__builtin_add_overflow(*sum, n, sum);
}

static bool add_entry_to(struct sum *sum, const struct al_reconciled *entry)
{
	sum->expected_tensors += entry->expected != NULL;
	sum->found_tensors += entry->found != NULL;
	return add_to(&sum->expected_parameters, entry->n_expected_parameters)
		&& add_to(&sum->found_parameters, entry->n_found_parameters)
		&& (!entry->found || add_to(&sum->bytes, (int64_t)entry->found->bytes));
}

static struct sum *find_sum(struct sum *sums, size_t *n, const char *part)
{
	for (size_t i = 0; i < *n; i++)
		if (strcmp(sums[i].part, part) == 0)
			return &sums[i];
	sums[*n] = (struct sum){.part = part};
	return &sums[(*n)++];
}

/* Parts in the order in which they come, then all. */
static bool add_sums(struct al_session *session, const struct al_reconciled *entries, size_t n,
	struct al_error *err)
{
	struct al_table *table = al_session_table(session, "parts", sum_fields, 0,
		"Expected and stored tensors");
	struct sum *sums = al_new_array(&session->arena, struct sum,
		AL_N_PARTS + AL_FAMILY_EXTRAS + 2);
	struct sum all = {.part = "all"};
	size_t n_sums = 0;

	for (size_t i = 0; i < n; i++) {
		const char *part = entries[i].part ? entries[i].part : "unexpected";
		if (!add_entry_to(find_sum(sums, &n_sums, part), &entries[i])
			|| !add_entry_to(&all, &entries[i]))
			return al_fail(err, AL_EINPUT, "more than 2^63 numbers are expected");
	}
	for (size_t i = 0; i < n_sums; i++)
		al_table_add_record(table, &sums[i]);
	al_table_add_record(table, &all);
	al_table_mark_total(table);
	return true;
}

/* A note counts what agrees, unless all is asked for. */
static void fill(struct al_session *session, struct al_table *table,
	const struct al_reconciled *entries, size_t n, uint64_t counts[AL_N_DIFFERENCES])
{
	const struct reconcile_options *o = session->options;

	for (size_t i = 0; i < n; i++) {
		counts[entries[i].difference]++;
		if (entries[i].difference != AL_DIFFERENCE_NONE || o->shows_all)
			add_entry(table, &entries[i]);
		if (al_difference_is_fault(entries[i].difference))
			session->answer_is_no = true;
	}
	for (int i = 0; i < AL_N_DIFFERENCES; i++)
		if (counts[i])
			al_table_note(table, "%s: %s",
				i == AL_DIFFERENCE_NONE ? "as expected" : al_difference_names[i],
				al_count_text(&table->arena, counts[i], "tensor"));
}

/* "1 missing, 2 unexpected" of the faults, or of what is no fault. */
static const char *list_differences(struct al_arena *arena, const uint64_t counts[AL_N_DIFFERENCES],
	bool of_faults)
{
	const char *text = "";

	for (int i = AL_DIFFERENCE_NONE + 1; i < AL_N_DIFFERENCES; i++)
		if (counts[i] && al_difference_is_fault((enum al_difference)i) == of_faults)
			text = al_join(arena, text,
				al_format(arena, "%s %s",
					al_claim_count(arena, al_difference_names[i],
						(int64_t)counts[i]),
					al_difference_names[i]));
	return text;
}

/* The last row of the parts is their sum. */
static const char *say(struct al_session *session, const uint64_t counts[AL_N_DIFFERENCES],
	const char *family)
{
	struct al_arena *arena = &session->arena;
	const struct al_table *parts = session->tables[session->n_tables - 1];
	const size_t all = parts->n_rows - 1;
	const char *named = al_claim_name(arena, "family", family);
	const char *faults = list_differences(arena, counts, true);
	const char *others = list_differences(arena, counts, false);
	const char *found = al_claim_cell(arena, parts, all, "found_parameters");

	if (*faults)
		return al_format(arena,
			"The checkpoint doesn't match family %s: %s; expected %s parameters, found "
			"%s.",
			named, faults, al_claim_cell(arena, parts, all, "expected_parameters"),
			found);
	return al_format(arena,
		"Family %s explains all %s tensors%s%s%s: " AL_CLAIM_LEAD
		"%s parameters. Names and shapes were compared, values not read.",
		named, al_claim_cell(arena, parts, all, "found_tensors"), *others ? " (" : "",
		others, *others ? ")" : "", found);
}

static bool run(struct al_session *session, struct al_error *err)
{
	const struct reconcile_options *o = session->options;
	struct al_opened_checkpoint *opened = al_session_checkpoint(session, &o->layout,
		al_session_word(session, 0), al_session_word(session, 1), false, err);
	uint64_t counts[AL_N_DIFFERENCES] = {0};
	struct al_reconciled *entries;
	size_t n;

	if (!opened || !al_reconcile(&opened->view, &entries, &n, err))
		return false;
	const char *family = opened->view.family->name;
	struct al_table *table = al_session_table(session, "reconcile", entry_fields, 0,
		"%s against family %s", opened->checkpoint->path, family);
	fill(session, table, entries, n, counts);
	al_opened_checkpoint_note(opened, table);
	al_note_numbers_unread(table);
	if (!add_sums(session, entries, n, err))
		return false;
	al_session_claim(session, say(session, counts, family));
	if (!*list_differences(&session->arena, counts, true))
		al_session_next_question(session, "audit", al_layout_groups, NULL);
	return true;
}

const struct al_command al_command_reconcile = {
	.words = "CHECKPOINT [CONFIG]",
	.examples = {"reconcile model.safetensors config.json",
		"reconcile model/ --tensors -f csv"},
	.options = groups,
	.options_size = sizeof(struct reconcile_options),
	.has_formats = true,
	.run = run,
};
