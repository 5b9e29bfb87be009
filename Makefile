# The tests and the benchmark that need a kernel with ublk, in an emulated guest: vm/README.md.
#   PROFILE=debug|release  which build of the program goes into the guest
#   CHECKS='brd nbd'       only the checks whose names hold one of these words
.PHONY: vm-test vm-benchmark
vm-test:
	@PROFILE=$(or $(PROFILE),debug) CHECKS='$(CHECKS)' vm/test
vm-benchmark:
	@PROFILE=$(or $(PROFILE),release) vm/benchmark
