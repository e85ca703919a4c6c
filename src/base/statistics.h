/* Distributions of statistics. */
#ifndef ATTNLEDGER_BASE_STATISTICS_H
#define ATTNLEDGER_BASE_STATISTICS_H

/* The probability that Student's t with so many degrees of freedom is as far from zero as `t`, on
 * either side. */
double al_students_t_chance(double t, double freedom);

#endif
