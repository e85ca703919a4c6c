/* Describes a file of an unsupported format, by its first bytes or its name's ending. */
#include "formats/foreign.h"

#include "formats/checkpoint.h"

#define HDF5 \
	"an HDF5 file (Keras, TensorFlow); transformers' from_pretrained(..., from_tf=True) and " \
	"save_pretrained make safetensors of it"

static const struct {
	const char *magic, *what;
	enum al_status status;
} beginnings[] = {
	{"version https://git-lfs", "a Git LFS pointer: the file itself has not been fetched",
		AL_EINPUT},
	/* for a program that has no format for them */
	{"PK\003\004", "a file of NumPy or PyTorch, which doesn't contain the model's sizes",
		AL_EFORMAT},
	{"\x93NUMPY", "a NumPy array, which doesn't contain the model's sizes", AL_EFORMAT},
	{"\x80\x02",
		"a Python pickle, but not of torch.save; torch.save(state_dict, FILE) makes one",
		AL_EFORMAT},
	{"\x89HDF", HDF5, AL_EINPUT},
	{"PK\005\006", "an empty zip archive: it contains no arrays and no pickle", AL_EINPUT},
};
enum { N_BEGINNINGS = sizeof(beginnings) / sizeof(*beginnings) };

#define TENSORFLOW \
	"a TensorFlow checkpoint; numpy.savez(FILE, **{name: tf.train.load_variable(PREFIX, " \
	"name) for name, _ in tf.train.list_variables(PREFIX)}) makes an .npz of it"

/* Formats whose files begin as any file may. */
static const struct {
	const char *ending, *what;
} endings[] = {
	{".onnx",
		"an ONNX graph; numpy.savez(FILE, **{t.name: onnx.numpy_helper.to_array(t) for t "
		"in onnx.load(PATH).graph.initializer}) makes an .npz of its weights"},
	{".h5", HDF5},
	{".pb", "a TensorFlow graph; its variables are in the checkpoint next to it"},
	{".index", TENSORFLOW},
	{".data-00000-of-00001", TENSORFLOW},
	{".tflite", "a TensorFlow Lite program, expected the model that it was made from"},
	{".msgpack",
		"a Flax file; transformers' from_pretrained(..., from_flax=True) and "
		"save_pretrained make safetensors of it"},
};
enum { N_ENDINGS = sizeof(endings) / sizeof(*endings) };

const char *al_foreign_name(const char *name)
{
	for (size_t i = 0; i < N_ENDINGS; i++)
		if (al_ends_with(name, endings[i].ending))
			return endings[i].what;
	return NULL;
}

/* Printable characters and white space alone: no file of weights begins with eight of them, whose
 * header's length or sizes they would be. */
static bool is_text(const char *start, size_t length)
{
	enum { LEAST = 8 };

	for (size_t i = 0; i < LEAST; i++)
		if (i >= length || start[i] == 0x7F
			|| (start[i] < ' ' && !memchr("\t\n\r", start[i], 3)))
			return false;
	return true;
}

static const char *text_kind(const char *start, size_t length)
{
	size_t at = 0;

	while (at + 1 < length && memchr(" \t\n\r", start[at], 4))
		at++;
	return start[at] == '{' || start[at] == '['
		? "JSON, which contains no weights; give a checkpoint; count, memory and cache "
		  "read a config whose name ends in .json"
		: "a text, expected a checkpoint: .safetensors, .gguf, .npz, .npy, .pt or .bin";
}

bool al_foreign_refuse(const struct al_source *source, const char *start, size_t length,
	struct al_error *err)
{
	const char *what = al_foreign_name(source->path);

	for (size_t i = 0; i < N_BEGINNINGS; i++) {
		const size_t m = strlen(beginnings[i].magic);
		if (length >= m && memcmp(start, beginnings[i].magic, m) == 0)
			return al_fail(err, beginnings[i].status, "%s: is %s", source->path,
				beginnings[i].what);
	}
	if (!what && is_text(start, length))
		what = text_kind(start, length);
	return !what || al_fail(err, AL_EINPUT, "%s: is %s", source->path, what);
}

/* ---- the purpose that a file declares: general.type of GGUF's metadata ----
 *= ggml-org/llama.cpp, gguf-py/gguf/constants.py, GGUFType */

static const struct {
	const char *type, *what;
} others[] = {
	{"imatrix",
		"an imatrix, sums of a model's activations; pass it with --calibration and give "
		"the model"},
	{"adapter",
		"an adapter (LoRA), changes to a model's weights; give the model, or both merged "
		"(llama-export-lora)"},
	{"mmproj", "a vision projector (mmproj); give the model's own file"},
	{"vocab", "a tokenizer without weights"},
};
enum { N_OTHERS = sizeof(others) / sizeof(*others) };

bool al_checkpoint_check_purpose(const struct al_checkpoint *checkpoint, struct al_error *err)
{
	const char *type = al_checkpoint_metadata(checkpoint, "general.type");

	for (size_t i = 0; type && i < N_OTHERS; i++)
		if (strcmp(type, others[i].type) == 0)
			return al_fail(err, AL_EINPUT, "%s: is %s", checkpoint->path,
				others[i].what);
	return true;
}
