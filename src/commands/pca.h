/* What the files of the command pca share. */
#ifndef ATTNLEDGER_COMMANDS_PCA_H
#define ATTNLEDGER_COMMANDS_PCA_H

#include "commands/command.h"
#include "pca/principal.h"
#include "pca/regression.h"

struct pca_options {
	struct al_output_options output;
	int64_t n_heads, keep; /* 0: not given */
	uint64_t architectures, only; /* a bit for each; 0: not given */
	const char *target, *modules, *epsilon;
	bool is_strict;
};

/* One module in one architecture. */
struct pca_module {
	struct al_session *session;
	const struct pca_options *options;
	const char *name;
	enum al_pca_architecture architecture;
	struct al_principal principal;
	size_t n_kept;
	size_t n_targets; /* 0: no target */
	struct al_target_moments moments; /* where there is one */
	double *errors; /* [n_features + 1], of the target; NULL: no target */
};

/* The tables of the answer; NULL: not wanted. */
enum pca_table { PCA_MODULES, PCA_COMPONENTS, PCA_LOADINGS, PCA_N_TABLES };

extern const char *const pca_table_names[PCA_N_TABLES];

struct pca_tables {
	struct al_table *of[PCA_N_TABLES];
};

void pca_tables_begin(struct pca_tables *tables, struct al_session *session);

/* Rows of the exact components. */
void pca_tables_add(struct pca_tables *tables, const struct pca_module *module);

#endif
