// What a search says when it cannot answer: why, and what to do.
import { Fault } from '#core/fault.ts'

/** It may begin again where it ended (decision 0066). */
const againMs = 1000

export const unfinished = (at: number): Fault =>
  new Fault('explorer.probe_bounds', {
    says: `The account has code that can pass value on, so each block has to be read; up to block ${at} none holds a transfer to it. Ask again to read on from there, or index the chain.`,
    retryAfterMs: againMs,
  })

export const tooManyCalls = (callsMax: number, at: number): Fault =>
  new Fault('explorer.probe_bounds', {
    says: `More than ${callsMax} calls to the node are needed; up to block ${at} nothing has come in. Ask again to go on from there, or index the chain.`,
    retryAfterMs: againMs,
  })

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
