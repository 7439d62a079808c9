// What a search says when it cannot answer: why, and what to do.
import { Fault } from '#core/fault.ts'

/** It may begin again where it ended (decision 0066). */
const againMs = 1000

/** `at` and `head` say how much is left. */
export const unfinished = (at: number, head: number): Fault =>
  new Fault('explorer.probe_bounds', {
    says: `The account has or had code that can pass value on, so each block has to be read; up to block ${at} of ${head} none holds a transfer to it. Ask again to read on from there, or index the chain (mode: both).`,
    retryAfterMs: againMs,
    terms: { at, head },
  })

/** Nothing shows that there was such a contract, and only the blocks show that there was none (decision 0165). */
export const unsure = (at: number, until: number): Fault =>
  new Fault('explorer.probe_bounds', {
    says: `The address may have been that of a contract before, of which its state shows nothing, so that each block has to be looked through; ${at < 0 ? 'none has been yet' : `up to block ${at} of ${until} none holds a transfer to it`}. Ask again to go on from there, or index the chain (mode: both).`,
    retryAfterMs: againMs,
    terms: { at, head: until },
  })

/** The same where so many are not read, and looks do not count (decision 0172). */
export const unread = (at: number, until: number): Fault =>
  new Fault('explorer.probe_bounds', {
    says: `The address may have been that of a contract before, of which its state shows nothing; blocks ${at + 1} to ${until} would have to be read to be sure. A node with trace_filter can tell, an index of the chain (mode: both), or a higher explorer.probe.sureBlocks.`,
  })

export const tooManyCalls = (callsMax: number, at: number, head: number): Fault =>
  new Fault('explorer.probe_bounds', {
    says: `More than ${callsMax} calls to the node are needed; up to block ${at} of ${head} nothing has come in. Ask again to go on from there, or index the chain (mode: both).`,
    retryAfterMs: againMs,
    terms: { at, head },
  })

/** The next search for the same address goes on where this one ended. */
export const isUnfinished = ({ code, retryAfterMs }: Fault): boolean =>
  code === 'explorer.probe_bounds' && retryAfterMs !== undefined

/** The same of a search that the server goes on with (decision 0162). */
export const goesOn = ({ code, says, terms }: Fault, retryAfterMs: number): Fault =>
  new Fault(code, { says: `${says} A running server goes on by itself.`, terms, retryAfterMs })

/** Asking again does not help. */
export const cannot = (why: string): Fault =>
  new Fault('explorer.probe_bounds', {
    says: `The first funding of this address cannot be found by a search: ${why}. An index of the chain can tell.`,
  })

export const behind = (block: number): Fault =>
  new Fault('explorer.node_unavailable', {
    detail: `the node is behind: it does not have block ${block}, which was final before`,
    retryAfterMs: 5000,
  })

export const noTraces = (block: number): Fault =>
  new Fault('explorer.no_traces', {
    detail: `block ${block} changed the account in a way its plain transfers do not explain`,
  })
