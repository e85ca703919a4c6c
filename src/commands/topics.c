/* What `help TOPIC` tells: what many commands share. */
#include "commands/topics.h"

#include <string.h>

#include "commands/options.h"

/* Paragraphs are wrapped; a line that begins with two spaces stays as it is. */
static const struct topic {
	const char *name, *summary;
	const char *lines[16]; /* ended by NULL */
} topics[] = {
	{"models", "what MODEL may be",
		{"MODEL is a built-in model, by its name in any case (attnledger count Llama-3-8B; "
		 "attnledger list models has all names), a config.json, or a folder that holds "
		 "one. count, cache, memory and fit read a GGUF file's metadata, too. A part of a "
		 "name lists the models that it may mean.",
			"  attnledger count gpt2", "  attnledger count path/to/config.json",
			"  attnledger count path/to/model-folder",
			"  attnledger memory path/to/model.gguf",
			"The commands on weights (inspect, reconcile, audit, pca, compress, "
			"verify, evaluate, calibrate) want a CHECKPOINT instead: see attnledger "
			"help files.",
			NULL}},
	{"settings", "symbols, and how to set them",
		{"Sizes have the field's names: d_model, n_heads, n_kv_heads, d_head, n_layers, "
		 "d_ff, vocab, batch, seq. attnledger list symbols has all of them. --set "
		 "KEY=VALUE "
		 "goes before what the model says; keys of its config.json may be set by their own "
		 "names.",
			"  attnledger memory llama-3-8b --batch 1 --seq 8k --set n_layers=40",
			"  attnledger count gqa --set d_model=2048 --set n_heads=16 --set "
			"n_kv_heads=4",
			"A variant with changes is NAME:KEY=VALUE,...; --variant may come more "
			"than once, --variants takes plain names.",
			"  attnledger cache llama-3-8b --seq 8k --variant gqa:n_kv_heads=2 "
			"--variants mha,mqa",
			NULL}},
	{"conventions", "what is counted, and how to count otherwise",
		{"Papers differ in what they count. --basis KEY=VALUE chooses:",
			"  output_projection=own|full|none   as declared, d_model x d_model, or "
			"not",
			"  biases=true|false                 where the variant has the choice",
			"  roles=query,key                   only these matrices",
			"  per=module|layer|model            one attention block, a layer, or all",
			"--recipe NAME is a convention of training memory (attnledger list "
			"recipes), --engine NAME a program that runs models (attnledger list "
			"engines). Each answer names what it stands on; --explain shows formula, "
			"substitution and source of each number.",
			NULL}},
	{"files", "what is read, and what is written",
		{"A CHECKPOINT is a .safetensors, .gguf, .npz, .npy, .pt or llama2.c .bin file, an "
		 "index of shards, or a folder with a config.json. Of files that are not read the "
		 "message says what they are and how to convert them.",
			"An answer goes to standard output, or with -o FILE to a file whose "
			"extension chooses the format: txt, json, csv, tex or md; -f NAME chooses "
			"it too. --report FILE.html, where a command has it, writes one page for a "
			"browser.",
			"Files are written whole or not at all.", NULL}},
	{"units", "bytes and counts for people and for programs",
		{"Text gives bytes in KiB, MiB, GiB (powers of 1024) and FLOPs in MFLOP, GFLOP, "
		 "and "
		 "counts in all digits. --units exact gives all digits of bytes too, --units raw "
		 "the "
		 "same without commas, --units iec scales counts as well (k, M, B), --units si "
		 "takes "
		 "powers of 1000 for bytes. JSON and CSV always hold the exact numbers, in bytes.",
			"Tokens may be given as 8k (8192) or 1M (2^20), memory as 80GiB, 80GB or "
			"H100.",
			NULL}},
	{"status", "exit status",
		{"  0  done", "  1  the answer is no: does not fit, differs, contradicts",
			"  2  wrong input or usage; nothing was printed or written",
			"  3  the system failed: no memory, a full disk, an unwritable file",
			NULL}},
};
enum { N_TOPICS = sizeof(topics) / sizeof(*topics), SUMMARY_COLUMN = 15 };

bool al_topic_help(const char *name, struct al_text *out)
{
	for (size_t i = 0; i < N_TOPICS; i++) {
		if (strcmp(topics[i].name, name) != 0)
			continue;
		for (const char *const *line = topics[i].lines; *line; line++)
			if ((*line)[0] == ' ')
				al_text_addf(out, "%s\n", *line);
			else
				al_help_add_wrapped(out, *line, 0);
		return true;
	}
	return false;
}

void al_topics_list(struct al_text *out)
{
	for (size_t i = 0; i < N_TOPICS; i++) {
		al_text_addf(out, "  %-12s ", topics[i].name);
		al_help_add_wrapped(out, topics[i].summary, SUMMARY_COLUMN);
	}
}

size_t al_topic_names(const char *names[AL_MOST_TOPICS])
{
	for (size_t i = 0; i < N_TOPICS; i++)
		names[i] = topics[i].name;
	return N_TOPICS;
}
