/* A question: a model (or bare symbols), bases, a recipe and the variants that are asked about. */
#include "commands/question.h"

#include <string.h>

#include "base/exact.h"
#include "base/names.h"
#include "catalog/books.h"
#include "catalog/family.h"

/* ---- the options ---- */

/* "KEY=VALUE" cut in two; NULL in *value where there is no '='. */
static const char *cut(struct session *session, const char *text, const char **value)
{
	const char *equals = strchr(text, '=');

	*value = equals ? equals + 1 : NULL;
	return equals ? al_strndup(&session->arena, text, (size_t)(equals - text)) : text;
}

bool parse_basis(struct session *session, struct al_basis *basis, struct al_error *err)
{
	const struct option_values *values = &session->arguments.options[OPT_BASIS];
	const char *value;

	for (size_t i = 0; i < values->n; i++) {
		const char *key = cut(session, values->items[i], &value);
		if (!value)
			return al_fail(err, AL_EINPUT, "--basis %s: expected KEY=VALUE",
				values->items[i]);
		if (!al_basis_set(basis, key, value, err))
			return al_in(err, "--basis %s", values->items[i]);
	}
	return true;
}

bool parse_substitutions(struct session *session, enum option option, struct al_substitution **out,
	size_t *n, struct al_error *err)
{
	const struct option_values *values = &session->arguments.options[option];
	const char *text;

	*n = 0;
	*out = al_new_array(&session->arena, struct al_substitution, values->n + 1);
	for (size_t i = 0; i < values->n; i++) {
		struct al_substitution *item = &(*out)[(*n)++];
		item->symbol = cut(session, values->items[i], &text);
		if (!text || !*item->symbol)
			return al_fail(err, AL_EINPUT, "\"%s\": expected SYMBOL=FORMULA",
				values->items[i]);
		if (!al_formula_parse(&session->arena, text, AL_DIALECT_CATALOG, &item->formula,
			    err))
			return al_in(err, "%s", values->items[i]);
	}
	return true;
}

static bool add_use(struct session *session, const char *text, struct al_variant_use **uses,
	size_t *n, size_t *room, struct al_error *err)
{
	*uses = al_grow(&session->arena, *uses, *n, room, sizeof(**uses));
	return al_variant_use_parse(&session->arena, session->catalog, text, &(*uses)[(*n)++], err);
}

bool add_all_uses(struct session *session, struct al_variant_use **uses, size_t *n, size_t *room,
	struct al_error *err)
{
	const struct al_embedded_list *files = al_catalog_files(AL_CATALOG_VARIANTS);

	for (size_t i = 0; i < files->n_files; i++)
		if (!add_use(session, files->files[i].name, uses, n, room, err))
			return false;
	return true;
}

/* "a,b,c" */
static bool add_plain_names(struct session *session, const char *text, struct al_variant_use **uses,
	size_t *n, size_t *room, struct al_error *err)
{
	for (;;) {
		size_t length = strcspn(text, ",");
		const char *name = al_strndup(&session->arena, text, length);
		if (strcmp(name, "all") == 0 ? !add_all_uses(session, uses, n, room, err)
					     : !add_use(session, name, uses, n, room, err))
			return false;
		if (!text[length])
			return true;
		text += length + 1;
	}
}

bool parse_uses(struct session *session, struct al_variant_use **uses, size_t *n, size_t *room,
	struct al_error *err)
{
	const struct option_values *one = &session->arguments.options[OPT_VARIANT];
	const struct option_values *many = &session->arguments.options[OPT_VARIANTS];

	for (size_t i = 0; i < one->n; i++)
		if (strcmp(one->items[i], "all") == 0
				? !add_all_uses(session, uses, n, room, err)
				: !add_use(session, one->items[i], uses, n, room, err))
			return false;
	for (size_t i = 0; i < many->n; i++)
		if (!add_plain_names(session, many->items[i], uses, n, room, err))
			return false;
	return true;
}

bool check_symbol_among(const struct al_settings *settings, const struct al_variant_use *uses,
	size_t n_uses, const char *symbol, struct al_error *err)
{
	struct al_names names;

	al_names_init(&names);
	for (size_t i = 0; i < settings->n_symbols; i++)
		al_names_add(&names, settings->symbols[i].name);
	for (size_t i = 0; i < n_uses; i++)
		for (size_t j = 0; j < uses[i].variant->n_symbols; j++)
			al_names_add(&names, uses[i].variant->symbols[j].name);
	if (!al_names_hold(&names, symbol))
		return al_names_fail(&names, "symbol", symbol, err);
	al_names_finish(&names);
	return true;
}

struct symbol_check {
	const struct al_settings *settings;
	const struct al_variant_use *uses;
	size_t n_uses;
	bool ok;
	struct al_error *err;
};

static void check_mentioned(void *context, const char *symbol)
{
	struct symbol_check *check = context;

	check->ok = check->ok
		&& check_symbol_among(check->settings, check->uses, check->n_uses, symbol,
			check->err);
}

bool check_formula_among(const struct al_settings *settings, const struct al_variant_use *uses,
	size_t n_uses, const struct al_formula *formula, struct al_error *err)
{
	struct symbol_check check = {settings, uses, n_uses, true, err};

	al_formula_each_symbol(formula, check_mentioned, &check);
	return check.ok;
}

const char *question_symbol(const struct question *q, const char *name)
{
	for (size_t i = 0; q->family && i < q->family->n_config; i++) {
		const struct al_config_key *key = &q->family->config[i];
		if (al_find_name(name, key->keys, key->n_keys) >= 0)
			return key->symbol;
	}
	return name;
}

static bool has_symbol(const struct question *q, const char *symbol)
{
	for (size_t i = 0; q->family && i < q->family->n_config; i++)
		if (strcmp(q->family->config[i].symbol, symbol) == 0)
			return true;
	return false;
}

/* A family's own symbols (n_experts) belong to its models. */
bool question_check_symbol(const struct question *q, const char *symbol, struct al_error *err)
{
	const char *known = question_symbol(q, symbol);

	if (has_symbol(q, known) || (q->family && strcmp(known, "dropout") == 0))
		return true;
	if (strcmp(known, "n_layers") == 0 && has_symbol(q, "n_encoder_layers"))
		return al_fail(err, AL_EINPUT,
			"the layers of %s are n_encoder_layers and n_decoder_layers, found "
			"n_layers",
			q->name);
	return check_symbol_among(&q->asked, q->uses, q->n_uses, symbol, err);
}

/* "KEY=VALUE" */
static bool ask(struct question *q, struct session *session, const char *text, const char *origin,
	struct al_error *err)
{
	const struct al_setting *setting;
	const char *value, *name = cut(session, text, &value);

	if (!value)
		return al_settings_parse(&q->asked, text, origin, err);
	if (!question_check_symbol(q, name, err))
		return al_in(err, "%s", origin);
	const char *symbol = question_symbol(q, name);
	if (!al_settings_parse(&q->asked, al_format(&session->arena, "%s=%s", symbol, value),
		    origin, err)
		|| !al_settings_get(&q->asked, symbol, &setting, err))
		return false;
	al_settings_ask(&q->asked, symbol, setting->value.integer, origin);
	return true;
}

static bool ask_all(struct question *q, struct session *session, struct al_error *err)
{
	const struct option_values *sets = &session->arguments.options[OPT_SET];
	const char *batch = option_value(&session->arguments, OPT_BATCH, NULL);
	const char *seq = option_value(&session->arguments, OPT_SEQ, NULL);

	for (size_t i = 0; i < sets->n; i++)
		if (!ask(q, session, sets->items[i], "--set", err))
			return false;
	if (batch
		&& !ask(q, session, al_format(&session->arena, "batch=%s", batch), "--batch", err))
		return false;
	return !seq || ask(q, session, al_format(&session->arena, "seq=%s", seq), "--seq", err);
}

/* The model's settings under what is asked. */
static bool settle(struct question *q, struct al_error *err)
{
	al_settings_finish(&q->settings);
	al_settings_init(&q->settings, q->catalog);
	al_settings_merge(&q->settings, &q->asked);
	return !q->model || al_settings_from_model(&q->settings, q->catalog, q->model, err);
}

bool question_set(struct question *q, const char *symbol, int64_t value, struct al_error *err)
{
	al_settings_ask(&q->asked, question_symbol(q, symbol), value, "set");
	return settle(q, err);
}

/* ---- the model ---- */

/* The attention block that the model itself has. */
static bool add_own_block(struct question *q, struct session *session, struct al_error *err)
{
	struct al_model_books books;

	q->is_own = true;
	if (!q->family)
		return add_use(session, "mha", &q->uses, &q->n_uses, &q->uses_room, err);
	if (!al_model_books_init(&books, session->catalog, q->family, &q->settings, AL_BOOKS_KINDS,
		    err))
		return al_in(err, "%s", q->name);
	bool ok = books.n_modules > 0
		|| al_fail(err, AL_EINPUT, "%s has no attention modules", q->name);
	for (size_t i = 0; ok && i < books.n_modules && i < 1; i++) {
		const struct al_model_module *module = &books.modules[i];
		struct al_variant_use use = {.variant = module->variant,
			.name = module->variant->name,
			.is_models_own = true};
		for (size_t j = 0; ok && j < module->n_with; j++)
			ok = al_variant_use_set(&session->arena, &use, module->with[j].symbol,
				module->with[j].value, q->settings.symbols, q->settings.n_symbols,
				err);
		q->uses = al_grow(&session->arena, q->uses, q->n_uses, &q->uses_room,
			sizeof(*q->uses));
		q->uses[q->n_uses++] = use;
	}
	al_model_books_finish(&books);
	return ok;
}

/* A file that lists tensors is a variant, any other JSON file a model's config. */
static bool is_variant_file(const char *path)
{
	struct al_json doc;
	size_t n = strlen(path);

	if (n < 6 || strcmp(path + n - 5, ".json") != 0 || !al_json_read(&doc, path, NULL))
		return false;
	bool has_tensors = al_json_get(doc.root, "tensors") != NULL;
	al_json_finish(&doc);
	return has_tensors;
}

static bool is_variant_name(const char *word)
{
	return al_embedded_find(al_catalog_files(AL_CATALOG_VARIANTS), word) || strchr(word, ':')
		|| is_variant_file(word);
}

static bool fail_unknown_subject(const char *word, struct al_error *err)
{
	static const enum al_catalog_kind kinds[] = {AL_CATALOG_MODELS, AL_CATALOG_VARIANTS};
	struct al_names names;

	al_names_init(&names);
	for (int i = 0; i < 2; i++) {
		const struct al_embedded_list *files = al_catalog_files(kinds[i]);
		for (size_t j = 0; j < files->n_files; j++)
			al_names_add(&names, files->files[j].name);
	}
	return al_names_fail(&names, "model or variant", word, err);
}

static bool find_subject(struct question *q, struct session *session, const char *word,
	bool takes_variant, struct al_error *err)
{
	q->name = q->title = word;
	if (takes_variant && !al_embedded_find(al_catalog_files(AL_CATALOG_MODELS), word)
		&& is_variant_name(word)) {
		if (!add_use(session, word, &q->uses, &q->n_uses, &q->uses_room, err))
			return false;
		q->title = q->uses[0].variant->title;
		return true;
	}
	if (!al_catalog_model(session->catalog, word, &q->model, err))
		return al_catalog_is_path(word) || !takes_variant ? false
								  : fail_unknown_subject(word, err);
	q->title = q->model->title;
	return !q->model->family
		|| al_catalog_family(session->catalog, q->model->family, &q->family, err);
}

static bool holds_name(const char *list, const char *name)
{
	size_t n = strlen(name);

	for (const char *p = list; (p = strstr(p, name)); p += n)
		if ((p == list || p[-1] == ',') && (!p[n] || p[n] == ','))
			return true;
	return false;
}

static bool is_asked_by_name(const struct session *session, const char *name)
{
	const struct arguments *a = &session->arguments;

	for (size_t i = 0; i < a->options[OPT_VARIANT].n; i++)
		if (strcmp(a->options[OPT_VARIANT].items[i], name) == 0)
			return true;
	for (size_t i = 0; i < a->options[OPT_VARIANTS].n; i++)
		if (holds_name(a->options[OPT_VARIANTS].items[i], name))
			return true;
	for (size_t i = 0; i < a->n_words; i++)
		if (strcmp(a->words[i], name) == 0)
			return true;
	return false;
}

/* Are all symbols of the variant's tensors and cache known? */
static bool is_countable(const struct question *q, const struct al_variant_use *use,
	struct al_error *err)
{
	struct al_block block;
	struct al_ledger ledger;

	if (!al_block_init(&block, use, &q->settings, &q->basis, err))
		return false;
	bool ok = al_ledger_tensors(&ledger, &block, true, false, err);
	if (ok)
		al_ledger_finish(&ledger);
	ok = ok && al_ledger_cache(&ledger, &block, false, err);
	if (ok)
		al_ledger_finish(&ledger);
	al_block_finish(&block);
	return ok;
}

/* "all" are those whose symbols are known: few models say what a low-rank variant would need. */
static bool leave_out(struct question *q, struct session *session, struct al_error *err)
{
	size_t kept = 0;

	if (!is_asked_by_name(session, "all"))
		return true;
	q->left_out = al_new_array(&session->arena, const char *, q->n_uses + 1);
	for (size_t i = 0; i < q->n_uses; i++) {
		const struct al_variant_use *use = &q->uses[i];
		if (!al_embedded_find(al_catalog_files(AL_CATALOG_VARIANTS), use->name)
			|| is_asked_by_name(session, use->name) || is_countable(q, use, err))
			q->uses[kept++] = q->uses[i];
		else
			q->left_out[q->n_left_out++] = al_strdup(&session->arena, err->message);
	}
	if (kept == 0 && q->n_uses > 0)
		return false;
	q->n_uses = kept;
	return true;
}

bool question_init(struct question *q, struct session *session, const char *word,
	bool takes_variant, enum al_basis_per per, struct al_error *err)
{
	const char *recipe = option_value(&session->arguments, OPT_RECIPE, "smith2022");

	*q = (struct question){.catalog = session->catalog};
	al_settings_init(&q->asked, session->catalog);
	al_settings_init(&q->settings, session->catalog);
	al_basis_init(&q->basis);
	bool ok = find_subject(q, session, word, takes_variant, err);
	q->basis.per = q->model ? per : AL_BASIS_MODULE;
	ok = ok && parse_uses(session, &q->uses, &q->n_uses, &q->uses_room, err)
		&& parse_basis(session, &q->basis, err)
		&& al_catalog_recipe(session->catalog, recipe, &q->recipe, err)
		&& ask_all(q, session, err) && settle(q, err)
		&& (is_given(&session->arguments, OPT_OVER) || leave_out(q, session, err))
		&& (q->n_uses > 0 || add_own_block(q, session, err));
	if (!ok)
		question_finish(q);
	return ok;
}

void question_finish(struct question *q)
{
	al_settings_finish(&q->asked);
	al_settings_finish(&q->settings);
}

struct al_column measure_column(enum al_measure measure)
{
	const struct al_measure_info *info = &al_measures[measure];

	return (struct al_column){.key = info->key,
		.title = info->title,
		.unit = info->unit,
		.quantity = (enum al_quantity)info->quantity,
		.digits = AL_DIGITS_ALL};
}
