/* Writes the checkpoints of this folder anew: ninja -C build tests/data/make-checkpoints &&
 * build/tests/data/make-checkpoints tests/data */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "support/folder.h"
#include "support/weights.h"

/* Every kind of trouble that a right file may hold. */
static const double not_finite[] = {1, NAN, -INFINITY, -0.5, 65504, INFINITY};
static const double ramp[] = {-3, -2, -1, 0, 1, 2, 3, 4};

static const struct weight odd[] = {
	{"layer.0.weight", "F32", {2, 4}, 2, ramp},
	{"\033[31mred\033[m", "F16", {2, 3}, 2, not_finite},
	{"odd bytes", "F8_E4M3", {3}, 1, NULL},
	{"four bits", "F4", {2, 3}, 2, NULL},
	{"layer.0.bias", "BF16", {8}, 1, ramp},
	{"empty", "F32", {0, 4}, 2, NULL},
	{"scalar", "F64", {0}, 0, ramp},
};

static const struct weight first[] = {
	{"embed.weight", "F32", {4, 2}, 2, ramp},
	{"layers.0.attn.weight", "F32", {2, 2}, 2, ramp},
};
static const struct weight second[] = {
	{"layers.1.attn.weight", "BF16", {2, 2}, 2, ramp},
	{"norm.weight", "F32", {2}, 1, ramp},
};

static const char index_text[] =
	"{\n"
	"  \"metadata\": {\"total_size\": 64},\n"
	"  \"weight_map\": {\n"
	"    \"embed.weight\": \"model-00001-of-00002.safetensors\",\n"
	"    \"layers.0.attn.weight\": \"model-00001-of-00002.safetensors\",\n"
	"    \"layers.1.attn.weight\": \"model-00002-of-00002.safetensors\",\n"
	"    \"norm.weight\": \"model-00002-of-00002.safetensors\"\n"
	"  }\n"
	"}\n";

/* An encoder of two layers, 3 heads of 4 dimensions, whose numbers are normal. */
#define SMALL_LAYER(layer) \
	{"encoder.layer." layer ".attention.self.query.weight", "F32", {12, 12}, 2, NULL}, \
		{"encoder.layer." layer ".attention.self.query.bias", "F32", {12}, 1, NULL}, \
		{"encoder.layer." layer ".attention.self.key.weight", "F32", {12, 12}, 2, NULL}, \
		{"encoder.layer." layer ".attention.self.key.bias", "F32", {12}, 1, NULL}, \
		{"encoder.layer." layer ".attention.self.value.weight", "F32", {12, 12}, 2, NULL}, \
		{"encoder.layer." layer ".attention.self.value.bias", "F32", {12}, 1, NULL}, \
		{"encoder.layer." layer ".attention.output.dense.weight", "F32", {12, 12}, 2, \
			NULL}, \
		{"encoder.layer." layer ".attention.output.dense.bias", "F32", {12}, 1, NULL}, \
	{ \
		"encoder.layer." layer ".intermediate.dense.weight", "F32", {16, 12}, 2, NULL \
	}

static const struct weight small[] = {
	{"embeddings.word_embeddings.weight", "F32", {10, 12}, 2, NULL},
	SMALL_LAYER("0"),
	SMALL_LAYER("1"),
};

/* The same in two shards, of which each holds a layer. */
static const struct weight embedding_and_layer[] = {
	{"embeddings.word_embeddings.weight", "F32", {10, 12}, 2, NULL},
	SMALL_LAYER("0"),
};
static const struct weight another_layer[] = {
	SMALL_LAYER("1"),
};

/* A layer in each format whose queries have, beside 1, a direction on either side of what four
 * times the format's unit roundoff leaves to see: 9/8 of it in head 0, 7/8 in head 1. */
#define ALMOST(threshold) \
	{ \
		1, 0, 0, 0, 0, 1.125 * (threshold), 0, 0, 0, 0, 1, 0, 0, 0, 0, 0.875 * (threshold) \
	}
static const double one[] = {1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1}, none[4];
static const double almost_f32[] = ALMOST(4 * 0x1p-24), almost_f16[] = ALMOST(4 * 0x1p-11);
static const double almost_bf16[] = ALMOST(4 * 0x1p-8);

#define ALMOST_LAYER(layer, dtype, query) \
	{"encoder.layer." layer ".attention.self.query.weight", dtype, {4, 4}, 2, query}, \
		{"encoder.layer." layer ".attention.self.query.bias", dtype, {4}, 1, none}, \
		{"encoder.layer." layer ".attention.self.key.weight", dtype, {4, 4}, 2, one}, \
		{"encoder.layer." layer ".attention.self.key.bias", dtype, {4}, 1, none}, \
		{"encoder.layer." layer ".attention.self.value.weight", dtype, {4, 4}, 2, one}, \
		{"encoder.layer." layer ".attention.self.value.bias", dtype, {4}, 1, none}, \
		{"encoder.layer." layer ".attention.output.dense.weight", dtype, {4, 4}, 2, one}, \
	{ \
		"encoder.layer." layer ".attention.output.dense.bias", dtype, {4}, 1, none \
	}

static const struct weight rounded[] = {
	ALMOST_LAYER("0", "F32", almost_f32),
	ALMOST_LAYER("1", "F16", almost_f16),
	ALMOST_LAYER("2", "BF16", almost_bf16),
};

/* ---- twins that share keys and values ---- */

/* Six heads of four dimensions on two keys and values: in layer 0 heads 0 and 1 of one group are
 * one, in layer 1 heads 0 and 3 of two groups, in layer 2 the whole groups; in layer 3 none. Values
 * of twins are the same up to a change of basis. */
enum { TWIN_D = 12, TWIN_HEAD = 4, TWIN_LAYERS = 4 };

static struct twins {
	double query[6 * TWIN_HEAD][TWIN_D];
	double key[2 * TWIN_HEAD][TWIN_D], value[2 * TWIN_HEAD][TWIN_D];
} twins[TWIN_LAYERS];

static void copy_head(double (*rows)[TWIN_D], int to, int from)
{
	for (int i = 0; i < TWIN_HEAD; i++)
		for (int x = 0; x < TWIN_D; x++)
			rows[to * TWIN_HEAD + i][x] = rows[from * TWIN_HEAD + i][x];
}

/* The second group's keys are the first's, its values span what the first's do. */
static void make_alike(struct twins *t)
{
	copy_head(t->key, 1, 0);
	for (int i = 0; i < TWIN_HEAD; i++)
		for (int x = 0; x < TWIN_D; x++)
			t->value[TWIN_HEAD + i][x] = t->value[i][x]
				+ t->value[(i + 1) % TWIN_HEAD][x] / 2;
}

static void plant_twins(void)
{
	for (unsigned l = 0; l < TWIN_LAYERS; l++) {
		fill_normal(&twins[l].query[0][0], sizeof(twins[l].query) / sizeof(double), 3 * l);
		fill_normal(&twins[l].key[0][0], sizeof(twins[l].key) / sizeof(double), 3 * l + 1);
		fill_normal(&twins[l].value[0][0], sizeof(twins[l].value) / sizeof(double),
			3 * l + 2);
	}
	copy_head(twins[0].query, 1, 0);
	copy_head(twins[1].query, 3, 0);
	make_alike(&twins[1]);
	for (int i = 0; i < 3; i++)
		copy_head(twins[2].query, 3 + i, i);
	make_alike(&twins[2]);
}

#define TWIN_WEIGHTS(layer) \
	{"layers." #layer ".self_attn.q_proj.weight", "F32", {24, TWIN_D}, 2, \
		&twins[layer].query[0][0]}, \
		{"layers." #layer ".self_attn.k_proj.weight", "F32", {8, TWIN_D}, 2, \
			&twins[layer].key[0][0]}, \
		{"layers." #layer ".self_attn.v_proj.weight", "F32", {8, TWIN_D}, 2, \
			&twins[layer].value[0][0]}, \
	{ \
		"layers." #layer ".self_attn.o_proj.weight", "F32", {TWIN_D, 24}, 2, NULL \
	}

static const struct weight twin_weights[] = {
	TWIN_WEIGHTS(0),
	TWIN_WEIGHTS(1),
	TWIN_WEIGHTS(2),
	TWIN_WEIGHTS(3),
};

/* ---- files ---- */

#define COUNT(array) (sizeof(array) / sizeof(*(array)))

static const char *const shards[] = {"model-00001-of-00002.safetensors",
	"model-00002-of-00002.safetensors"};

/* ,"NAME": "SHARD" for each weight */
static size_t add_places(char *text, size_t room, const struct weight *weights, size_t n,
	const char *shard, const char *comma)
{
	size_t length = 0;

	for (size_t i = 0; i < n; i++) {
		length += (size_t)snprintf(text + length, room - length, "%s\n\"%s\": \"%s\"",
			comma, weights[i].name, shard);
		comma = ",";
	}
	return length;
}

static void write_shards(const char *folder)
{
	char path[8192], text[4096];
	size_t n = (size_t)snprintf(text, sizeof(text), "{\"weight_map\": {");

	snprintf(path, sizeof(path), "%s/%s", folder, shards[0]);
	write_weights(path, embedding_and_layer, COUNT(embedding_and_layer));
	snprintf(path, sizeof(path), "%s/%s", folder, shards[1]);
	write_weights(path, another_layer, COUNT(another_layer));
	n += add_places(text + n, sizeof(text) - n, embedding_and_layer, COUNT(embedding_and_layer),
		shards[0], "");
	n += add_places(text + n, sizeof(text) - n, another_layer, COUNT(another_layer), shards[1],
		",");
	n += (size_t)snprintf(text + n, sizeof(text) - n, "\n}}\n");
	snprintf(path, sizeof(path), "%s/model.safetensors.index.json", folder);
	test_write(path, text, n);
}

int main(int argc, char **argv)
{
	char path[4096];

	if (argc != 2) {
		fprintf(stderr, "usage: %s FOLDER\n", argv[0]);
		return EXIT_FAILURE;
	}
	snprintf(path, sizeof(path), "%s/odd.safetensors", argv[1]);
	write_weights(path, odd, COUNT(odd));
	snprintf(path, sizeof(path), "%s/small-bert.safetensors", argv[1]);
	write_weights(path, small, COUNT(small));
	snprintf(path, sizeof(path), "%s/rounded.safetensors", argv[1]);
	write_weights(path, rounded, COUNT(rounded));
	snprintf(path, sizeof(path), "%s/sharded/model-00001-of-00002.safetensors", argv[1]);
	write_weights(path, first, COUNT(first));
	snprintf(path, sizeof(path), "%s/sharded/model-00002-of-00002.safetensors", argv[1]);
	write_weights(path, second, COUNT(second));
	snprintf(path, sizeof(path), "%s/sharded/model.safetensors.index.json", argv[1]);
	test_write(path, index_text, sizeof(index_text) - 1);
	plant_twins();
	snprintf(path, sizeof(path), "%s/twins.safetensors", argv[1]);
	write_weights(path, twin_weights, COUNT(twin_weights));
	snprintf(path, sizeof(path), "%s/sharded-bert", argv[1]);
	write_shards(path);
	return EXIT_SUCCESS;
}
