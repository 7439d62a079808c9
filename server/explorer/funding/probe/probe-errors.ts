// Errors of a search in a node: what happened, why, and what the operator can do.
import { Fault } from '#core/fault.ts'
import type { ChainSettings } from '#runtime/settings/explorer.ts'
import { indexAdvice } from '#sources/evm/capabilities.ts'

type Chain = Pick<ChainSettings, 'mode'>

export const timeLimitReached = (chain: Chain, timeoutMs: number, at: number, detail: string): Fault =>
  new Fault('explorer.probe_bounds', {
    message: `The search did not finish within ${timeoutMs / 1000} s. ${transfersUpTo(at)} Raise explorer.probe.timeoutMs, or ${indexAdvice(chain)}.`,
    detail,
  })

export const callLimitReached = (chain: Chain, callsMax: number, at: number): Fault =>
  new Fault('explorer.probe_bounds', {
    message: `The search needs more than ${callsMax} calls to the node. ${transfersUpTo(at)} To find the first funding, ${indexAdvice(chain)}.`,
  })

const transfersUpTo = (at: number): string =>
  at < 0 ? 'No block is ruled out yet.' : `Blocks up to ${at} hold no transfer to this address.`

/** `reason`: why the state of the account is not enough. `advice`: what the operator can do. */
export const needsIndexFault = ({ reason, advice }: { readonly reason: string; readonly advice: string }): Fault =>
  new Fault('explorer.needs_index', { message: `${reason} ${advice}` })

export const contradictsStored = (block: number): Fault =>
  needsIndexFault({
    reason: `A search finds the first funding in block ${block}, but an earlier transfer is stored.`,
    advice: 'Check the node. If the stored transfer is wrong, remove it with tetrad repair --chain … --forget-from ….',
  })

export const needsTraceFilter = (chain: Chain, reason: string): Fault =>
  needsIndexFault({ reason, advice: `Use a node with trace_filter, or ${indexAdvice(chain)}.` })

export const unexplainedBlock = (chain: Chain, block: number, reason: string): Fault =>
  new Fault('explorer.unexplained_block', {
    message: `Block ${block} changed this account, but the block does not explain the change: ${reason}. Check the block with another node, or ${indexAdvice(chain)}.`,
  })

export const missingTraces = (block: number): Fault =>
  new Fault('explorer.no_traces', {
    detail: `block ${block} changed the account in a way that its plain transfers do not explain`,
  })

export const noFinalBlock = (chain: string): Fault =>
  new Fault('explorer.node_unavailable', {
    message: `No transfer was found, but no node of chain ${chain} reports which block is final. Set explorer.chains[].finalityBlocks.`,
  })
