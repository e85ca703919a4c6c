/* Tiny models of every family that runs, against a float64 program that knows nothing of this one
 * (reference.py, from the reference implementations' sources).
 *
 * A case is a file of tests/data/forward: the state dict that its tensors are of, the file of its
 * family where it isn't built in, what its config says beside that, its sequences, and for each
 * token what reference.py expects: a decoder's logits, an encoder's last hidden state. `write-tiny
 * CASE FOLDER` writes the checkpoint. */
#include "tests/forward/tiny.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/json.h"
#include "base/memory.h"

static void must(bool ok, const char *what, const struct al_error *err)
{
	if (ok)
		return;
	fprintf(stderr, "%s: %s\n", what, err->message);
	abort();
}

static bool ends_in(const char *name, const char *end)
{
	const size_t n = strlen(name), m = strlen(end);

	return n > m && strcmp(name + n - m, end) == 0;
}

/* Of the size of trained weights: vectors are norms and variances (about 1) and biases (about
 * 0). */
static const double *make_values(struct al_arena *arena, const struct weight *weight)
{
	const size_t n = weight_elements(weight);
	const bool is_scale = weight->n_dims == 1
		&& (ends_in(weight->name, ".weight") || ends_in(weight->name, "var_norm"));
	double *values = al_new_array(arena, double, n);

	fill_normal(values, n, al_hash(AL_HASH_EMPTY, weight->name, strlen(weight->name)));
	for (size_t i = 0; i < n; i++)
		values[i] = values[i] * (weight->n_dims == 1 ? 0.2 : 0.4) + (is_scale ? 1 : 0);
	return values;
}

/* The state dict's config with what the case adds to it. */
static const char *merge(struct al_arena *arena, const char *config, const char *more)
{
	return al_format(arena, "%.*s, %s}", (int)(strrchr(config, '}') - config), config, more);
}

void tiny_write(const char *state_dict, const char *more, const struct test_folder *folder)
{
	struct state_dict *dict = state_dict_read(state_dict);

	for (size_t i = 0; i < dict->n; i++)
		dict->weights[i].values = make_values(&dict->arena, &dict->weights[i]);
	if (*more)
		dict->config = merge(&dict->arena, dict->config, more);
	state_dict_write(dict, folder, true);
	state_dict_finish(dict);
}

static void read_tokens(struct tiny *tiny, const struct al_json *doc, const struct al_item *list)
{
	size_t n = 0, i = 0;
	struct al_error err;

	tiny->begin = al_new_array(&tiny->arena, size_t, al_json_size(list) + 1);
	tiny->tokens = al_new_array(&tiny->arena, int32_t, 1024);
	al_json_each (sequence, list) {
		al_json_each (token, sequence) {
			int64_t value = 0;
			must(al_json_whole(doc, token, &value, &err), doc->name, &err);
			tiny->tokens[n++] = (int32_t)value;
		}
		tiny->begin[++i] = n;
	}
	tiny->batch = (struct al_batch){tiny->tokens, tiny->begin, i, 0};
}

static void read_expected(struct tiny *tiny, const struct al_json *doc, const struct al_item *list)
{
	struct al_error err;
	size_t n = 0;

	tiny->n_expected = al_json_size(list);
	tiny->width = tiny->n_expected ? al_json_size(al_json_first(list)) : 0;
	tiny->expected = al_new_array(&tiny->arena, double, tiny->n_expected * tiny->width + 1);
	al_json_each (row, list)
		al_json_each (number, row)
			must(al_json_real(doc, number, &tiny->expected[n++], &err), doc->name,
				&err);
}

struct tiny *tiny_read(const char *path)
{
	struct tiny *tiny = al_calloc(1, sizeof(*tiny));
	const char *text = "";
	struct al_json doc;
	struct al_error err;

	al_arena_init(&tiny->arena);
	must(al_json_read(&doc, path, &err), path, &err);
	must(al_json_get_text(&doc, doc.root, "state_dict", true, &text, &err), path, &err);
	tiny->state_dict = al_strdup(&tiny->arena, text);
	text = "";
	must(al_json_get_text(&doc, doc.root, "family", false, &text, &err), path, &err);
	tiny->family = *text ? al_strdup(&tiny->arena, text) : NULL;
	text = "";
	must(al_json_get_text(&doc, doc.root, "config", false, &text, &err), path, &err);
	tiny->more = al_strdup(&tiny->arena, text);
	read_tokens(tiny, &doc, al_json_get(doc.root, "tokens"));
	read_expected(tiny, &doc, al_json_get(doc.root, "expected"));
	al_json_finish(&doc);
	return tiny;
}

void tiny_finish(struct tiny *tiny)
{
	al_arena_finish(&tiny->arena);
	free(tiny);
}
