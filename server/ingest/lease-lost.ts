// The error of a write whose ingester has lost its lease (./lease.ts, 3). A file of its own, because the threads of the
// duties database throw it and need nothing else of the lease.
export class LeaseLost extends Error {
  constructor(name: string) {
    super(`another process runs ${name} now; nothing was written`)
    this.name = 'LeaseLost'
  }
}
