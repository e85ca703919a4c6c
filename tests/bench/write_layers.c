/* Writes a BERT of random weights, one shard a layer: write_layers FOLDER LAYERS D_MODEL [DTYPE] */
#include <stdio.h>
#include <stdlib.h>

#include "support/folder.h"
#include "support/weights.h"

static const char *const parts[] = {"self.query.weight", "self.key.weight", "self.value.weight",
	"output.dense.weight", "self.query.bias", "self.key.bias", "self.value.bias",
	"output.dense.bias"};
enum { N_PARTS = sizeof(parts) / sizeof(*parts) };

static void write_layer(const struct test_folder *folder, int layer, int64_t d_model,
	const char *dtype)
{
	char names[N_PARTS][96], path[256], file[64];
	struct weight weights[N_PARTS];

	for (int i = 0; i < N_PARTS; i++) {
		snprintf(names[i], sizeof(names[i]), "encoder.layer.%d.attention.%s", layer,
			parts[i]);
		weights[i] = (struct weight){.name = names[i],
			.dtype = dtype,
			.shape = {d_model, d_model},
			.n_dims = i < N_PARTS / 2 ? 2 : 1};
	}
	snprintf(file, sizeof(file), "%d.safetensors", layer);
	write_weights(test_path(path, folder, file), weights, N_PARTS);
}

static void write_index(const struct test_folder *folder, int n_layers)
{
	char path[256];
	FILE *file = fopen(test_path(path, folder, "model.safetensors.index.json"), "w");

	if (!file)
		abort();
	fprintf(file, "{\"weight_map\": {");
	for (int i = 0; i < n_layers * N_PARTS; i++)
		fprintf(file, "%s\"encoder.layer.%d.attention.%s\": \"%d.safetensors\"",
			i ? ", " : "", i / N_PARTS, parts[i % N_PARTS], i / N_PARTS);
	fprintf(file, "}}");
	if (fclose(file) != 0)
		abort();
}

int main(int argc, char **argv)
{
	struct test_folder folder;

	if (argc < 4 || argc > 5
		|| snprintf(folder.path, sizeof(folder.path), "%s", argv[1])
			>= (int)sizeof(folder.path)) {
		fprintf(stderr, "usage: write_layers FOLDER LAYERS D_MODEL [DTYPE]\n");
		return EXIT_FAILURE;
	}
	int n_layers = atoi(argv[2]);
	for (int i = 0; i < n_layers; i++)
		write_layer(&folder, i, atoi(argv[3]), argc > 4 ? argv[4] : "F32");
	write_index(&folder, n_layers);
	return EXIT_SUCCESS;
}
