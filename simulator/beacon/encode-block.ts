// Simulated blocks as SSZ, their headers and their roots. They are computed from the JSON with the server's code, which is
// tested against recorded blocks of another implementation (forks.test.ts).
import { blockTypeOf } from '#sources/beacon/block-type.ts'
import { rootOf, type SszType } from '#sources/beacon/ssz-type.ts'
import { blockJson, bodyJson, headJson, messageJson } from './encode-json.ts'
import type { Rootless } from './encode-payload.ts'
import { type NetworkPlan, rulesOf } from './plan.ts'
import type { SimulatedBlock } from './records.ts'

const typeOf = ({ fork }: Rootless, plan: NetworkPlan) => blockTypeOf(fork, rulesOf(plan))

const jsonRoot = (type: SszType, json: unknown): string => rootOf(type, type.fromJson(json, 'block'))

export const blockBytes = (block: SimulatedBlock, plan: NetworkPlan): Buffer =>
  Buffer.from(typeOf(block, plan).signed.fromJson(blockJson(block), 'block'))

export const blockRootOf = (block: Rootless, plan: NetworkPlan): string =>
  jsonRoot(typeOf(block, plan).message, messageJson(block))

const bodyRoots = new WeakMap<SimulatedBlock, string>()

export const headerJson = (block: SimulatedBlock, plan: NetworkPlan) => ({
  ...headJson(block),
  body_root: bodyRoots.getOrInsertComputed(block, () =>
    jsonRoot(typeOf(block, plan).message.fields.body, bodyJson(block)),
  ),
})
