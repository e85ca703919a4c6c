/* State dicts as checkpoints. */
#include "support/state_dict.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void must(bool is_done, const char *what)
{
	if (is_done)
		return;
	perror(what);
	abort();
}

/* "lm_head.weight 17 12" */
static void read_weight(struct state_dict *dict, char *line)
{
	char *rest, *name = strtok_r(line, " ", &rest);
	struct weight *weight = &dict->weights[dict->n++];

	must(dict->n < STATE_DICT_WEIGHTS, name);
	*weight = (struct weight){.name = name, .dtype = "F32"};
	for (char *word = strtok_r(NULL, " ", &rest); word; word = strtok_r(NULL, " ", &rest)) {
		must(weight->n_dims < WEIGHT_DIMS, name);
		weight->shape[weight->n_dims++] = strtoll(word, NULL, 10);
	}
}

struct state_dict *state_dict_read(const char *name)
{
	static const char config[] = "config ";
	struct state_dict *dict = calloc(1, sizeof(*dict));
	char line[4096];

	must(dict != NULL, name);
	al_arena_init(&dict->arena);
	const char *path = al_format(&dict->arena, STATE_DICTS "/%s.txt", name);
	FILE *file = fopen(path, "r");
	must(file != NULL, path);
	while (fgets(line, sizeof(line), file)) {
		char *copy = al_strndup(&dict->arena, line, strcspn(line, "\n"));
		if (strncmp(copy, config, sizeof(config) - 1) == 0)
			dict->config = copy + sizeof(config) - 1;
		else if (*copy != '#')
			read_weight(dict, copy);
	}
	fclose(file);
	must(dict->config != NULL, path);
	return dict;
}

struct state_dict *state_dict_read_numbered(const char *name)
{
	struct state_dict *dict = state_dict_read(name);

	for (size_t i = 0; i < dict->n; i++) {
		const size_t n = weight_elements(&dict->weights[i]);
		double *values = al_new_array(&dict->arena, double, n + 1);
		fill_normal(values, n, i);
		dict->weights[i].values = values;
	}
	return dict;
}

void state_dict_finish(struct state_dict *dict)
{
	al_arena_finish(&dict->arena);
	free(dict);
}

struct weight *state_dict_find(struct state_dict *dict, const char *name)
{
	for (size_t i = 0; i < dict->n; i++)
		if (strcmp(dict->weights[i].name, name) == 0)
			return &dict->weights[i];
	return NULL;
}

void state_dict_remove(struct state_dict *dict, const char *name)
{
	struct weight *weight = state_dict_find(dict, name);

	must(weight != NULL, name);
	dict->n--;
	memmove(weight, weight + 1, (size_t)(dict->weights + dict->n - weight) * sizeof(*weight));
}

void state_dict_rename(struct state_dict *dict, const char *removed, const char *added)
{
	for (size_t i = 0; i < dict->n; i++) {
		const char *name = dict->weights[i].name;
		size_t skipped = strncmp(name, removed, strlen(removed)) == 0 ? strlen(removed) : 0;
		dict->weights[i].name = al_format(&dict->arena, "%s%s", added, name + skipped);
	}
}

void state_dict_write(const struct state_dict *dict, const struct test_folder *folder,
	bool with_config)
{
	char path[256];

	write_weights(test_path(path, folder, "model.safetensors"), dict->weights, dict->n);
	if (with_config)
		test_write(test_path(path, folder, "config.json"), dict->config,
			strlen(dict->config));
}
