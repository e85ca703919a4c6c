/* Temporary files and folders beside those that they become.
 *
 * A program holds a lock on a temporary file as long as it has it open: one whose lock is free was
 * left by a program that was killed. Locks hold on one machine at least: the name says which. */
#ifndef ATTNLEDGER_BASE_TEMPORARY_H
#define ATTNLEDGER_BASE_TEMPORARY_H

/* Makes one in the folder of `path` and returns it open for reading and writing, with its name,
 * from the heap; -1 and errno: it can't be made. */
int al_temporary_open(char **name, const char *path);

/* The same, a folder. What it returns is of the folder, open for reading; its files are the
 * caller's. */
int al_temporary_folder_open(char **name, const char *path);

/* Removes from the folder of `path` what killed programs of this machine left. Where locks can't be
 * had, nothing is. */
void al_temporary_tidy(const char *path);

#endif
