// A function of libdKaMinPar.so that bench.distributed_tools can call; it goes to kaminpar-dist/.

#include <span>

#include <dkaminpar.h>

using namespace kaminpar;

extern "C" void dkaminpar(
    const std::uint64_t *starts,
    const std::uint64_t *indptr,
    const std::uint64_t *indices,
    int k,
    double imbalance,
    int seed,
    const char *preset,
    std::uint32_t *parts,
    MPI_Comm *comm
) {
  int rank, size;
  MPI_Comm_rank(*comm, &rank);
  MPI_Comm_size(*comm, &size);
  const auto own = starts[rank + 1] - starts[rank];

  dKaMinPar::reseed(seed);
  dKaMinPar partitioner(*comm, 1, dist::create_context_by_preset_name(preset));
  partitioner.set_output_level(OutputLevel::QUIET);
  partitioner.copy_graph({starts, starts + size + 1}, {indptr, own + 1}, {indices, indptr[own]});
  partitioner.set_k(k);
  partitioner.set_uniform_max_block_weights(imbalance);
  partitioner.compute_partition({parts, own});
}
