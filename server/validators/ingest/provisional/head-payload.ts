// Whether a node regards the payload of its newest block as part of the chain. Since Gloas, a payload arrives after its
// block, and only the next block decides. Until then the node may change its mind about the same block, which is no
// reorganization. Nodes report this in their events only.
import type { BeaconEvent, PayloadStatus } from '#sources/beacon/events.ts'

export interface HeadPayload {
  /** Of the newest block. */
  readonly root: string
  /** Undefined: the payload has arrived after the last report, or the node's report is not valid. */
  readonly status: PayloadStatus | undefined
}

/** What is known after an event. */
export function headPayloadAfter(known: HeadPayload | undefined, event: BeaconEvent): HeadPayload | undefined {
  const { topic, root, payloadStatus: status } = event
  if (topic === 'head_v2') return root === undefined ? undefined : { root, status }
  // Nodes should report the new status, but need not. A late payload does not become part of the chain.
  if (topic === 'execution_payload' && root === known?.root && known?.status === 'empty')
    return { ...known, status: undefined }
  return known
}
