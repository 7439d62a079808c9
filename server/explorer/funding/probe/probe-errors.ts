// Errors of a search in a node: what happened, why, and what the operator can do.
import { Fault } from '#core/fault.ts'

export const timeLimitReached = (timeoutMs: number, at: number, detail: string): Fault =>
  new Fault('explorer.probe_bounds', {
    message: `The search did not finish within ${timeoutMs / 1000} s. ${transfersUpTo(at)} Raise explorer.probe.timeoutMs or index the chain (mode: both).`,
    detail,
  })

export const callLimitReached = (callsMax: number, at: number): Fault =>
  new Fault('explorer.probe_bounds', {
    message: `The search needs more than ${callsMax} calls to the node. ${transfersUpTo(at)} Index the chain (mode: both) to find the first funding.`,
  })

const transfersUpTo = (at: number): string =>
  at < 0 ? 'No block is ruled out yet.' : `Blocks up to ${at} hold no transfer to this address.`

const indexAdvice = 'Use a node with trace_filter, or index the chain (mode: index or both).'

/** `reason` says why the state of the account is not enough, `advice` what the operator can do. */
export const needsIndex = (reason: string, advice = indexAdvice): Fault =>
  new Fault('explorer.needs_index', { message: `${reason} ${advice}` })

export const unexplainedBlock = (block: number, reason: string): Fault =>
  new Fault('explorer.unexplained_block', {
    message: `Block ${block} changed this account, but the block does not explain the change: ${reason}. Check the block with another node, or index the chain (mode: both).`,
  })

export const missingTraces = (block: number): Fault =>
  new Fault('explorer.no_traces', {
    detail: `block ${block} changed the account in a way that its plain transfers do not explain`,
  })

export const noFinalBlock = (chain: string): Fault =>
  new Fault('explorer.node_unavailable', {
    message: `No transfer was found, but no node of chain ${chain} reports which block is final. Set explorer.chains[].finalityBlocks.`,
  })
