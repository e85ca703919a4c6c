/* Valid documents of every parser, and the parsers. Those of JSON are tried on the strict text
 * first: what a cut leaves of an object is none, and most cuts end there. */
#include "documents/documents.h"

#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/json.h"
#include "base/memory.h"
#include "model/calibration/calibration.h"
#include "model/calibration/imatrix.h"
#include "catalog/tensor_list.h"
#include "catalog/read.h"
#include "ledger/quantize.h"
#include "formats/checkpoint.h"
#include "formats/npy.h"
#include "audit/shard/shard.h"
#include "paper/lint.h"
#include "scenario/csv.h"
#include "scenario/scenario.h"
#include "support/folder.h"
#include "support/weights.h"
#include "model/tokenize/tokenizer.h"
#include "documents/record.h"

static struct test_folder folder;

/* ---- JSON ---- */

static bool parse_json(const char *text, size_t length, struct al_error *err)
{
	struct al_json doc;

	if (!al_json_parse(&doc, "json", text, length, err))
		return false;
	al_json_finish(&doc);
	return true;
}

/* ---- the catalog ---- */

/* What a catalog file is read with; made once. */
static struct {
	struct al_arena arena;
	struct al_symbols symbols;
	struct al_catalog *catalog;
} known;

struct catalog_file {
	struct al_arena arena;
	struct al_json doc;
};

static bool file_init(struct catalog_file *f, const char *text, size_t length, struct al_error *err)
{
	if (!al_json_parse(&f->doc, "file.json", text, length, err))
		return false;
	al_arena_init(&f->arena);
	return true;
}

static bool file_finish(struct catalog_file *f, bool ok)
{
	al_arena_finish(&f->arena);
	al_json_finish(&f->doc);
	return ok;
}

static bool parse_symbols(const char *text, size_t length, struct al_error *err)
{
	struct catalog_file f;
	struct al_symbols symbols;

	return file_init(&f, text, length, err)
		&& file_finish(&f, al_symbols_parse(&f.arena, &f.doc, &symbols, err));
}

static bool read_file(struct catalog_file *f, const struct al_file_kind *kind, struct al_error *err)
{
	void *item;

	return file_finish(f,
		al_read_file(kind, &f->arena, &f->doc, f->doc.root, &known.symbols, &item, err));
}

static bool parse_variant(const char *text, size_t length, struct al_error *err)
{
	struct catalog_file f;

	return file_init(&f, text, length, err) && read_file(&f, &al_variant_file, err);
}

static bool parse_recipe(const char *text, size_t length, struct al_error *err)
{
	struct catalog_file f;

	return file_init(&f, text, length, err) && read_file(&f, &al_recipe_file, err);
}

static bool parse_engine(const char *text, size_t length, struct al_error *err)
{
	struct catalog_file f;

	void *engine;

	return file_init(&f, text, length, err)
		&& file_finish(&f, al_engine_read(&f.arena, &f.doc, "vllm", &engine, err));
}

static bool parse_scheme(const char *text, size_t length, struct al_error *err)
{
	struct catalog_file f;

	return file_init(&f, text, length, err) && read_file(&f, &al_scheme_file, err);
}

static bool parse_family(const char *text, size_t length, struct al_error *err)
{
	const struct al_composition composition = {.catalog = known.catalog,
		.standard = &known.symbols};
	const struct al_forward *forward;
	struct catalog_file f;
	struct al_family *family;

	return file_init(&f, text, length, err)
		&& file_finish(&f,
			al_family_complete(known.catalog, &f.doc, err)
				&& al_family_read(&f.arena, &f.doc, &composition, NULL, &family,
					err)
				&& al_family_check(family, &f.doc, known.catalog, err)
				&& al_forward_read(&f.arena, &f.doc, &known.symbols, family,
					&forward, err));
}

static bool read_model(struct catalog_file *f, struct al_settings *settings, struct al_error *err)
{
	void *model;

	return al_read_file(&al_model_file, &f->arena, &f->doc, f->doc.root, NULL, &model, err)
		&& al_model_settings(model, known.catalog, settings, err);
}

static bool parse_model(const char *text, size_t length, struct al_error *err)
{
	struct catalog_file f;
	struct al_settings settings;

	if (!file_init(&f, text, length, err))
		return false;
	al_settings_init(&settings, known.catalog);
	bool ok = read_model(&f, &settings, err);
	al_settings_finish(&settings);
	return file_finish(&f, ok);
}

/* A config.json is read from a file, by the family that it names. */
static bool parse_config(const char *text, size_t length, struct al_error *err)
{
	struct al_catalog *catalog;
	const struct al_model *model;
	char path[256];

	if (!parse_json(text, length, err))
		return false;
	test_write(test_path(path, &folder, "config.json"), text, length);
	catalog = al_catalog_create();
	bool ok = al_catalog_model(catalog, path, &model, err);
	al_catalog_destroy(catalog);
	return ok;
}

/* What a config says of its quantization. */
static bool parse_quantization(const char *text, size_t length, struct al_error *err)
{
	struct al_quantization quantization;
	struct al_model model = {.name = "config.json"};
	struct al_arena arena;
	struct al_json doc;

	if (!al_json_parse(&doc, "config.json", text, length, err))
		return false;
	model.doc = &doc;
	model.config = doc.root;
	al_arena_init(&arena);
	bool ok = al_quantization_init(&quantization, &arena, known.catalog, &model, NULL, err);
	if (ok)
		al_quantization_finish(&quantization);
	al_arena_finish(&arena);
	al_json_finish(&doc);
	return ok;
}

static bool parse_scenario(const char *text, size_t length, struct al_error *err)
{
	struct al_scenario *scenario;

	if (!parse_json(text, length, err)
		|| !al_scenario_parse(&scenario, known.catalog, "scenario", "scenario.json",
			"scenarios", text, length, err))
		return false;
	al_scenario_destroy(scenario);
	return true;
}

/* ---- parts of an audit ---- */

static bool parse_shard(const char *text, size_t length, struct al_error *err)
{
	struct al_shard_file shard;

	if (!parse_json(text, length, err)
		|| !al_shard_file_parse(&shard, "part.json", text, length, err))
		return false;
	al_shard_file_finish(&shard);
	return true;
}

/* ---- what is no JSON ---- */

/* These two take a text that ends in NUL. */
static char *terminated(const char *text, size_t length)
{
	char *copy = al_alloc(length + 1, 1);

	memcpy(copy, text, length);
	copy[length] = '\0';
	return copy;
}

static bool parse_csv(const char *text, size_t length, struct al_error *err)
{
	const char *cells[8];
	char *copy = terminated(text, length), *p;
	size_t n;
	bool ok = al_csv_check(copy, length, &p, err);

	while (ok && *p)
		ok = al_csv_next_record(&p, cells, 8, &n, err);
	free(copy);
	return ok;
}

static bool parse_map(const char *text, size_t length, struct al_error *err)
{
	struct al_paper_map map;

	if (!al_paper_map_parse(&map, "map", text, length, err))
		return false;
	al_paper_map_finish(&map);
	return true;
}

/* A paper with nothing in it is one. */
static bool parse_paper(const char *text, size_t length, struct al_error *err)
{
	struct al_paper paper;

	if (!al_paper_parse(&paper, "paper.tex", text, length, err))
		return false;
	al_paper_finish(&paper);
	return true;
}

static bool parse_formula(const char *text, size_t length, struct al_error *err)
{
	char *copy = terminated(text, length);
	const struct al_formula *formula;
	struct al_arena arena;

	al_arena_init(&arena);
	bool ok = al_formula_parse(&arena, copy, AL_DIALECT_CATALOG, &formula, err);
	al_arena_finish(&arena);
	free(copy);
	return ok;
}

static bool parse_npy(const char *text, size_t length, struct al_error *err)
{
	struct al_npy npy;

	if (!al_npy_parse(&npy, "file.npy", text, length, false, err))
		return false;
	al_npy_finish(&npy);
	return true;
}

static bool parse_tokenizer(const char *text, size_t length, struct al_error *err)
{
	struct al_tokenizer tokenizer;

	if (!al_tokenizer_parse_bin(&tokenizer, "tokenizer.bin", text, length, err))
		return false;
	al_tokenizer_finish(&tokenizer);
	return true;
}

static bool parse_tokenizer_json(const char *text, size_t length, struct al_error *err)
{
	struct al_tokenizer tokenizer;

	if (!al_tokenizer_parse_json(&tokenizer, "tokenizer.json", text, length, err))
		return false;
	al_tokenizer_finish(&tokenizer);
	return true;
}

static bool parse_tokens(const char *text, size_t length, struct al_error *err)
{
	struct al_tokens tokens;

	if (!al_tokens_parse(&tokens, "tokens", text, length, err))
		return false;
	al_tokens_finish(&tokens);
	return true;
}

static void fill_npy(struct al_text *out)
{
	const double numbers[] = {1, 2, 3, 4, 5, 6};

	al_npy_add(out, numbers, 2, 3, false);
}

/* ---- checkpoints ---- */

static bool open_checkpoint(const char *path, struct al_error *err)
{
	struct al_checkpoint checkpoint;

	if (!al_checkpoint_open(&checkpoint, path, err))
		return false;
	al_checkpoint_close(&checkpoint);
	return true;
}

static bool parse_safetensors(const char *text, size_t length, struct al_error *err)
{
	char path[256];

	test_write(test_path(path, &folder, "file.safetensors"), text, length);
	return open_checkpoint(path, err);
}

static bool parse_llama2c(const char *text, size_t length, struct al_error *err)
{
	char path[256];

	test_write(test_path(path, &folder, "file.bin"), text, length);
	return open_checkpoint(path, err);
}

/* A format that is recognized by how the file begins. */
static bool parse_by_magic(const char *text, size_t length, struct al_error *err)
{
	char path[256];

	test_write(test_path(path, &folder, "file"), text, length);
	return open_checkpoint(path, err);
}

/* The header alone: the file says its length, and ends with it. */
static bool parse_header(const char *text, size_t length, struct al_error *err)
{
	char path[256], *copy = terminated(text, length);

	write_header(test_path(path, &folder, "header.safetensors"), copy, 24);
	free(copy);
	return open_checkpoint(path, err);
}

/* Beside the two shards of tests/data/sharded. */
static bool parse_index(const char *text, size_t length, struct al_error *err)
{
	char path[256];

	test_write(test_path(path, &folder, "model.safetensors.index.json"), text, length);
	return open_checkpoint(path, err);
}

/* ---- a compression's record, of two forms ---- */

static bool parse_truncated(const char *text, size_t length, struct al_error *err)
{
	return parse_record(AL_METHOD_QK, text, length, err);
}

static void fill_truncated(struct al_text *out)
{
	fill_record(AL_METHOD_QK, out);
}

static bool parse_dropped(const char *text, size_t length, struct al_error *err)
{
	return parse_record(AL_METHOD_DROP, text, length, err);
}

static void fill_dropped(struct al_text *out)
{
	fill_record(AL_METHOD_DROP, out);
}

/* ---- calibrations ---- */

static bool parse_calibration(const char *text, size_t length, struct al_error *err)
{
	struct al_calibration calibration;
	char path[256];

	test_write(test_path(path, &folder, "calibration.safetensors"), text, length);
	if (!al_calibration_read(&calibration, path, err))
		return false;
	const struct al_module_statistics *module;
	bool ok = true;
	for (size_t i = 0; ok && i < calibration.n_modules; i++)
		ok = al_calibration_find(&calibration, calibration.modules[i].name, &module, err);
	al_calibration_finish(&calibration);
	return ok;
}

static bool parse_imatrix(const char *text, size_t length, struct al_error *err)
{
	struct al_imatrix imatrix;
	char path[256];

	test_write(test_path(path, &folder, "m.imatrix"), text, length);
	if (!al_imatrix_open(&imatrix, path, err))
		return false;
	al_imatrix_finish(&imatrix);
	return true;
}

/* One head of one number, one sequence of tokens. */
static void fill_calibration(struct al_text *out)
{
	double inputs[] = {2, 1, 1}, number[] = {1}, tokens = 1;
	uint64_t sequence = 0x123456789abcdef;
	int64_t queries = 1;
	struct al_module_statistics module = {.name = "layers.0",
		.n_inputs = 1,
		.tokens = &tokens,
		.of = {[AL_STATISTIC_INPUTS] = {.data = inputs, .rows = 3, .cols = 1, .ld = 3}}};
	struct al_calibration calibration = {.source = 1,
		.n_folds = 1,
		.sequences = &sequence,
		.n_sequences = 1,
		.modules = &module,
		.n_modules = 1};
	struct al_text written;
	struct al_error err;
	char path[256];

	for (int kind = AL_STATISTIC_INPUTS + 1; kind < AL_N_STATISTICS; kind++)
		module.of[kind] = (struct al_matrix){.data = number, .rows = 1, .cols = 1, .ld = 1};
	for (int kind = 0; kind < AL_N_QUERIES; kind++)
		calibration.n_queries[kind] = &queries;
	test_path(path, &folder, "calibration.safetensors");
	al_text_init(&written);
	must_read(al_calibration_write(&calibration, path, &err)
			&& al_file_read(&written, path, 1 << 20, &err),
		&err);
	al_text_add_bytes(out, written.data, written.length);
	al_text_finish(&written);
}

/* ---- the table ---- */

const struct parser parsers[] = {
	{.name = "json",
		.parse = parse_json,
		.texts = {"[1, -2.5e+3, \"\\u00e9\\ud834\\udd1e\\n\", true, false, null, {}, []]",
			"{\"a\": {\"b\": [[], {\"c\": "
			"\"\xc3\xa9\xe2\x82\xac\xf0\x9d\x84\x9e\"}]}} "}},
	{.name = "symbols", .parse = parse_symbols, .files = "src/catalog/symbols.json"},
	{.name = "variant", .parse = parse_variant, .files = "src/catalog/variants/*.json"},
	{.name = "engine", .parse = parse_engine, .files = "src/catalog/engines/*.json"},
	{.name = "scheme", .parse = parse_scheme, .files = "src/catalog/schemes/[cm]*.json"},
	{.name = "recipe", .parse = parse_recipe, .files = "src/catalog/recipes/*.json"},
	/* these have all keys that a family may have */
	{.name = "family", .parse = parse_family, .files = "src/catalog/families/[bdqt]*.json"},
	{.name = "model", .parse = parse_model, .files = "src/catalog/models/*.json"},
	{.name = "config", .parse = parse_config, .files = "tests/data/*-*b*.json"},
	{.name = "quantization",
		.parse = parse_quantization,
		.files = "tests/data/quantized/[abcgq]*[a-z8t].json"},
	{.name = "scenario", .parse = parse_scenario, .files = "scenarios/[c-w]*.json"},
	{.name = "part of an audit",
		.parse = parse_shard,
		.files = "tests/fuzz/corpus/shard/[mr]*"},
	{.name = "CSV",
		.parse = parse_csv,
		.texts = {"\xef\xbb\xbf"
			  "case,variant,\"bl\"\"eu\"\r\nbase,\"m,ha\",24.8\r\nbase,,"
			  "\"\xc3\xa9\"\r\n",
			"a,b\n\"1\n2\",3\n\n"}},
	{.name = "map of a paper", .parse = parse_map, .files = "tests/data/papers/*.map.json"},
	{.name = "paper in LaTeX", .parse = parse_paper, .files = "tests/data/papers/*.tex"},
	{.name = "paper as text", .parse = parse_paper, .files = "tests/data/papers/lost.txt"},
	{.name = "formula",
		.parse = parse_formula,
		.texts = {"if(q_rank > 0, q_rank*d_model, 0) + ceil_div(n_heads, 2)^2",
			"min(seq, window)*layer_types[layer] - max(1, -2)/3",
			"not (a == 1 and b <= 2 or mod(c, 4) < 3)", "2*(a + b*(c - d))"}},
	{.name = "npy",
		.parse = parse_npy,
		.files = "tests/fuzz/corpus/npy/f[248]*",
		.fill = fill_npy},
	{.name = "tokenizer.bin",
		.parse = parse_tokenizer,
		.files = "tests/fuzz/corpus/tokenizer/good"},
	{.name = "tokenizer.json",
		.parse = parse_tokenizer_json,
		.files = "tests/fuzz/corpus/tokenizer_json/[bs]e*"},
	{.name = "tokens", .parse = parse_tokens, .files = "tests/fuzz/corpus/tokens/[iu]*"},
	{.name = "tokens as text", .parse = parse_tokens, .texts = {"1 22 333\n4,5\n"}},
	{.name = "safetensors", .parse = parse_safetensors, .files = "tests/data/odd.safetensors"},
	{.name = "llama2.c", .parse = parse_llama2c, .files = "tests/fuzz/corpus/llama2c/*tied"},
	{.name = "GGUF", .parse = parse_by_magic, .files = "tests/fuzz/corpus/gguf/small"},
	{.name = "npz", .parse = parse_by_magic, .files = "tests/fuzz/corpus/npz/swapped"},
	{.name = "torch", .parse = parse_by_magic, .files = "tests/fuzz/corpus/torch/nested"},
	{.name = "torch, legacy",
		.parse = parse_by_magic,
		.files = "tests/fuzz/corpus/torch/legacy"},
	{.name = "safetensors header",
		.parse = parse_header,
		.texts = {"{\"__metadata__\": {\"format\": \"pt\", \"k\": \"\\u00e9\"}, \"a\": "
			  "{\"dtype\": \"F32\", \"shape\": [2, 2], \"data_offsets\": [0, 16]}, "
			  "\"b\": {\"dtype\": \"F64\", \"shape\": [], \"data_offsets\": [16, "
			  "24]}}"}},
	{.name = "index",
		.parse = parse_index,
		.files = "tests/data/sharded/model.safetensors.index.json"},
	{.name = "calibration", .parse = parse_calibration, .fill = fill_calibration},
	{.name = "imatrix", .parse = parse_imatrix, .files = "tests/fuzz/corpus/imatrix/gguf"},
	{.name = "imatrix, .dat",
		.parse = parse_imatrix,
		.files = "tests/fuzz/corpus/imatrix/legacy-old"},
	{.name = "recorded shapes", .parse = parse_shapes, .fill = fill_shapes},
	{.name = "record of ranks", .parse = parse_truncated, .fill = fill_truncated},
	{.name = "record of dropped heads", .parse = parse_dropped, .fill = fill_dropped},
	{.name = NULL},
};

static void visit_files(const struct parser *parser,
	void (*visit)(const struct parser *, const char *, const char *, size_t))
{
	struct al_error err;
	glob_t found;

	if (glob(parser->files, 0, NULL, &found) != 0) {
		fprintf(stderr, "%s: no such file\n", parser->files);
		abort();
	}
	for (size_t i = 0; i < found.gl_pathc; i++) {
		AL_TEXT(text);
		must_read(al_file_read(&text, found.gl_pathv[i], 1 << 20, &err), &err);
		visit(parser, found.gl_pathv[i], text.data, text.length);
	}
	globfree(&found);
}

void visit_documents(const struct parser *parser,
	void (*visit)(const struct parser *, const char *, const char *, size_t))
{
	if (parser->files)
		visit_files(parser, visit);
	for (size_t i = 0; parser->texts[i]; i++)
		visit(parser, parser->name, parser->texts[i], strlen(parser->texts[i]));
	if (parser->fill) {
		struct al_text text;
		al_text_init(&text);
		parser->fill(&text);
		visit(parser, parser->name, text.data, text.length);
		al_text_finish(&text);
	}
}

/* ---- what they work with ---- */

static void copy_file(const char *from, const char *name)
{
	struct al_error err;
	char path[256];

	AL_TEXT(text);
	must_read(al_file_read(&text, from, 1 << 20, &err), &err);
	test_write(test_path(path, &folder, name), text.data, text.length);
}

void documents_begin(void)
{
	struct al_error err;

	al_arena_init(&known.arena);
	known.catalog = al_catalog_create();
	must_read(al_symbols_load(&known.arena, &known.symbols, &err), &err);
	test_folder_make(&folder);
	copy_file("tests/data/sharded/model-00001-of-00002.safetensors",
		"model-00001-of-00002.safetensors");
	copy_file("tests/data/sharded/model-00002-of-00002.safetensors",
		"model-00002-of-00002.safetensors");
	record_begin(&folder);
}

void documents_end(void)
{
	record_end();
	al_catalog_destroy(known.catalog);
	al_arena_finish(&known.arena);
	test_folder_remove(&folder);
}
