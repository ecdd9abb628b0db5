/* OpenMPI's all-reduce of f32 sums: the median of many, one JSON line for each size.
   mpicc -O3 -march=native mpi_allreduce.c -o mpi_allreduce
   mpirun -n 2 ./mpi_allreduce                          through shared memory
   mpirun --mca btl tcp,self -n 2 ./mpi_allreduce       over TCP; as root with --allow-run-as-root */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

static int by_value(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

int main(int argc, char **argv) {
    const size_t sizes[] = {4 << 10, 256 << 10, 4 << 20, 64 << 20};
    const int warm_up = 10;
    int rank, world;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &world);
    for (int k = 0; k < 4; k++) {
        size_t bytes = sizes[k], count = bytes / sizeof(float);
        long rounds = (256 << 20) / (long)bytes / 4;
        rounds = rounds < 8 ? 8 : rounds > 2000 ? 2000 : rounds;
        float *numbers = malloc(bytes);
        double *times = malloc(rounds * sizeof(double));
        if (!numbers || !times) MPI_Abort(MPI_COMM_WORLD, 1);
        for (long n = 0; n < rounds + warm_up; n++) {
            for (size_t i = 0; i < count; i++) numbers[i] = 1;
            MPI_Barrier(MPI_COMM_WORLD);
            double start = MPI_Wtime();
            MPI_Allreduce(MPI_IN_PLACE, numbers, (int)count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
            if (n >= warm_up) times[n - warm_up] = MPI_Wtime() - start;
        }
        qsort(times, rounds, sizeof(double), by_value);
        double median = times[rounds / 2];
        if (rank == 0)
            printf("{\"what\": \"allreduce\", \"tool\": \"mpi\", \"workers\": %d, \"bytes\": %zu, "
                   "\"median_us\": %.3f, \"gb_per_s\": %.3f}\n", world, bytes, median * 1e6, bytes / median / 1e9);
        free(numbers);
        free(times);
    }
    MPI_Finalize();
    return 0;
}
