/* Reading vocabulary.json. */
#include "paper/vocabulary.h"

#include <assert.h>

#include "base/embedded.h"
#include "base/record.h"
#include "paper/paper.h"
#include "paper/subject.h"

extern const struct al_embedded_list al_embedded_paper;

static const struct meaning {
	const char *word;
	enum al_meaning meaning;
	int size;
} meanings[] = {{"model", AL_MEANS_MODEL, 0}, {"attention", AL_MEANS_ATTENTION, 0},
	{"method", AL_MEANS_METHOD, 0}, {"context", AL_MEANS_CONTEXT, 0},
	{"batch", AL_MEANS_BATCH, 0}, {"number format", AL_MEANS_FORMAT, 0},
	{"n_layers", AL_MEANS_SIZE, AL_DIM_LAYERS}, {"d_model", AL_MEANS_SIZE, AL_DIM_WIDTH},
	{"n_heads", AL_MEANS_SIZE, AL_DIM_HEADS}, {"n_kv_heads", AL_MEANS_SIZE, AL_DIM_KV_HEADS},
	{"d_head", AL_MEANS_SIZE, AL_DIM_HEAD_DIM},
	{"query heads of a key head", AL_MEANS_SIZE, AL_DIM_GROUP},
	{"attention layers", AL_MEANS_SIZE, AL_DIM_CACHED_LAYERS},
	{"d_model or d_head", AL_MEANS_SIZE, AL_DIM_SOME}, {"d_ff", AL_MEANS_SIZE, AL_DIM_FFN},
	{"vocab", AL_MEANS_SIZE, AL_DIM_VOCAB}, {"n_experts", AL_MEANS_SIZE, AL_DIM_EXPERTS},
	{"n_active", AL_MEANS_SIZE, AL_DIM_ACTIVE_EXPERTS},
	{"parameters", AL_MEANS_TOTAL, AL_TOTAL_PARAMETERS},
	{"active parameters", AL_MEANS_TOTAL, AL_TOTAL_ACTIVE},
	{"parameters without embedding and head", AL_MEANS_TOTAL, AL_TOTAL_NON_EMBEDDING},
	{"weights", AL_MEANS_WEIGHTS, 0}, {"cache", AL_MEANS_CACHE, 0},
	{"cache of a token", AL_MEANS_CACHE_OF_TOKEN, 0}, {"sum", AL_MEANS_SUM, 0},
	{"mean", AL_MEANS_MEAN, 0}, {"change", AL_MEANS_CHANGE, 0}, {"ratio", AL_MEANS_RATIO, 0}};

static bool find_meaning(void *arena, const char *word, void *out, struct al_error *err)
{
	const size_t n = sizeof(meanings) / sizeof(*meanings);
	const struct meaning *found = AL_FIND(meanings, n, word);
	struct al_paper_heads *head = out;

	(void)arena;
	if (!found)
		return al_fail_unknown_item(err, "meaning", word, meanings, n, sizeof(*meanings));
	head->meaning = found->meaning;
	head->size = found->size;
	return true;
}

static bool find_normal(void *arena, const char *text, void *out, struct al_error *err)
{
	(void)err;
	*(const char **)out = al_paper_normal(arena, text);
	return true;
}

#define HEADS(key, at, n_at) \
	{ \
		AL_KEY(key, LIST, at), .n_offset = (n_at), .find = find_normal, \
				       .item_size = sizeof(const char *) \
	}
#define AT(member) offsetof(struct al_paper_heads, member)
static const struct al_field head_fields[] = {
	{AL_KEY("means", BY, 0), .find = find_meaning},
	{AL_KEY("column", TEXT, AT(column))},
	HEADS("is", AT(names), AT(n_names)),
	HEADS("contains", AT(parts), AT(n_parts)),
	HEADS("begins", AT(beginnings), AT(n_beginnings)),
};
#undef AT
static const struct al_record head_record = {
	.fields = AL_FIELDS(head_fields),
	.size = sizeof(struct al_paper_heads),
};

#define WORDS(list, name) \
	{AL_KEY(#name, LIST, AL_WORDS_##list * sizeof(struct al_paper_list)), \
		.n_offset = AL_WORDS_##list * sizeof(struct al_paper_list) \
			+ offsetof(struct al_paper_list, n)},
static const struct al_field word_fields[] = {AL_WORD_LISTS(WORDS)};
static const struct al_record word_record = {.fields = AL_FIELDS(word_fields)};

/* "from #/2 to/2 #/2": a number may have two other words in front. */
static bool find_form(void *context, const char *text, void *out, struct al_error *err)
{
	struct al_paper_pair_form *form = out;
	char *rest = al_strdup(context, text), *word;

	(void)err;
	while ((word = strtok_r(rest, " ", &rest))) {
		char *slash = strchr(word, '/');
		assert(form->n_steps < sizeof(form->steps) / sizeof(*form->steps));
		if (slash)
			*slash = '\0';
		form->steps[form->n_steps++] = (struct al_paper_step){strcmp(word, "#") == 0 ? NULL
											     : word,
			slash ? (size_t)(slash[1] - '0') : 0};
	}
	return true;
}

#define AT(member) offsetof(struct al_paper_pair_form, member)
static const struct al_field pair_fields[] = {
	{AL_KEY("form", BY, 0), .find = find_form},
	{AL_KEY("old_first", BOOLEAN, AT(is_old_first))},
	{AL_KEY("share", BOOLEAN, AT(is_share))},
	{AL_KEY("loose", BOOLEAN, AT(is_loose))},
};
#undef AT
static const struct al_record pair_record = {
	.fields = AL_FIELDS(pair_fields),
	.size = sizeof(struct al_paper_pair_form),
};

#define AT(member) offsetof(struct al_paper_unit, member)
static const struct al_field unit_fields[] = {
	{AL_KEY("name", TEXT, AT(name))},
	{AL_KEY("scale", REAL, AT(scale))},
	{AL_KEY("of", TEXT, AT(family))},
};
#undef AT
static const struct al_record unit_record = {
	.fields = AL_FIELDS(unit_fields),
	.size = sizeof(struct al_paper_unit),
};

#define AT(member) offsetof(struct al_paper_vocabulary, member)
static const struct al_field fields[] = {
	{AL_KEY("heads", LIST, AT(heads)), .n_offset = AT(n_heads), .record = &head_record},
	{AL_KEY("columns", LIST, AT(columns)), .n_offset = AT(n_columns), .record = &head_record},
	{AL_KEY("relations", LIST, AT(relations)), .n_offset = AT(n_relations),
		.record = &head_record},
	HEADS("other_quantities", AT(others), AT(n_others)),
	{AL_KEY("vendors", LIST, AT(vendors)), .n_offset = AT(n_vendors)},
	{AL_KEY("endings", LIST, AT(endings)), .n_offset = AT(n_endings)},
	{AL_KEY("remarks", LIST, AT(remarks)), .n_offset = AT(n_remarks)},
	{AL_KEY("pairs", LIST, AT(pairs)), .n_offset = AT(n_pairs), .record = &pair_record},
	{AL_KEY("units", LIST, AT(units)), .n_offset = AT(n_units), .record = &unit_record},
	{AL_KEY("words", RECORD, AT(words)), .record = &word_record},
};
#undef AT
static const struct al_record record = {.fields = AL_FIELDS(fields)};

static int compare_listed(const void *a, const void *b)
{
	const struct al_paper_listed *x = a, *y = b;

	return strcmp(x->word, y->word);
}

static void sort_listed(struct al_paper_vocabulary *v, struct al_arena *arena)
{
	size_t room = 0, n = 0;

	for (int list = 0; list < AL_N_WORDS; list++)
		for (size_t i = 0; i < v->words[list].n; i++) {
			struct al_paper_listed *listed = AL_APPEND(arena, v->listed, n, room);
			*listed = (struct al_paper_listed){.word = v->words[list].items[i]};
			listed->is_in[list] = true;
		}
	qsort(v->listed, n, sizeof(*v->listed), compare_listed);
	for (size_t i = 0; i < n; i++) {
		struct al_paper_listed *last = v->listed + v->n_listed - 1;
		if (v->n_listed == 0 || strcmp(last->word, v->listed[i].word) != 0) {
			v->listed[v->n_listed++] = v->listed[i];
			continue;
		}
		for (int list = 0; list < AL_N_WORDS; list++)
			last->is_in[list] |= v->listed[i].is_in[list];
	}
}

const struct al_paper_listed *al_paper_listed_find(const struct al_paper_vocabulary *vocabulary,
	const char *word)
{
	const struct al_paper_listed key = {.word = word};

	return bsearch(&key, vocabulary->listed, vocabulary->n_listed, sizeof(key), compare_listed);
}

bool al_paper_vocabulary_read(struct al_paper_vocabulary *out, struct al_arena *arena,
	struct al_error *err)
{
	const struct al_embedded *file = al_embedded_find(&al_embedded_paper, "vocabulary");
	AL_JSON(doc);
	const struct al_record_source source = {arena, &doc, arena};

	*out = (struct al_paper_vocabulary){0};
	if (!al_json_parse(&doc, "vocabulary.json", file->text, file->length, err)
		|| !al_record_read(&source, &record, doc.root, out, err))
		return false;
	sort_listed(out, arena);
	return true;
}

static bool fits(const struct al_paper_heads *heads, const char *normal)
{
	for (size_t i = 0; i < heads->n_parts; i++)
		if (strstr(normal, heads->parts[i]))
			return true;
	for (size_t i = 0; i < heads->n_beginnings; i++)
		if (strncmp(normal, heads->beginnings[i], strlen(heads->beginnings[i])) == 0)
			return true;
	return al_find_name(normal, heads->names, heads->n_names) >= 0;
}

const struct al_paper_heads *al_paper_heads_find(const struct al_paper_heads *all, size_t n,
	const char *normal)
{
	static const struct al_paper_heads nothing = {.meaning = AL_MEANS_NOTHING};

	for (size_t i = 0; i < n; i++)
		if (fits(&all[i], normal))
			return &all[i];
	return &nothing;
}
