// The duties of a validator in the previous, the current and the next epoch, which are not final. Nothing is shown if the
// server does not know them.
import type { Network } from '#api/contract/wire/validators.ts'
import type { CurrentAttestation, CurrentPayloadVote } from '#api/contract/wire/validators-duties.ts'
import { Card } from '../../parts/card.tsx'
import { Facts } from '../../parts/facts.tsx'
import { formatTime } from '../../parts/format.ts'
import { Table } from '../../parts/table.tsx'
import { useEndpoint } from '../../use-endpoint.ts'

/** A slot of mainnet. */
const refreshMs = 12_000

const stateLabels: Readonly<Record<CurrentAttestation['state'], readonly [tone: string, label: string]>> = {
  included: ['good', 'attested'],
  due: ['', 'not yet'],
  missing: ['warn', 'missed so far'],
}

const headPayloadLabels = {
  full: 'arrived, as the node sees it; the next block decides',
  empty: 'not there, as the node sees it; the next block decides',
} as const

const payloadLabels = { full: 'part of the chain', empty: 'not part of the chain', unknown: 'not decided yet' } as const

const formatSeconds = (from: string, until: string): string =>
  `${((Date.parse(until) - Date.parse(from)) / 1000).toFixed(1)} s`

export function CurrentDuties({ index, network }: { readonly index: number; readonly network: Network }) {
  const { data } = useEndpoint('validators.duties', { validator_index_or_pubkey: index, network }, { refreshMs })
  if (!data || data.reply.headSlot === null) return null
  const { epoch, headSlot, headPayload, attestations, proposals, payloadVotes, blocks, inSyncCommittee } = data.reply
  const [next] = proposals
  return (
    <Card id="current-duties" title="Current duties" aside={<span className="badge warn">not final</span>}>
      <Facts
        of={{
          'Current epoch': `${epoch}, newest block in slot ${headSlot}`,
          ...(headPayload !== 'unknown' && { 'Payload of the newest block': headPayloadLabels[headPayload] }),
          'Next proposal': next
            ? `slot ${next.slot}, ${formatTime(next.timestamp)}`
            : 'none in this and the next epoch',
          'Sync committee': inSyncCommittee === null ? 'unknown' : inSyncCommittee ? 'member' : 'not a member',
        }}
      />
      <Table
        name="Attestations of the previous, the current and the next epoch"
        rows={attestations}
        columns={[
          ['Epoch', ({ epoch: number }) => number, 'num'],
          ['Slot', ({ slot }) => slot, 'num'],
          ['Time', ({ timestamp }) => formatTime(timestamp)],
          ['Due after', ({ timestamp, dueTimestamp }) => formatSeconds(timestamp, dueTimestamp), 'num'],
          ['Committee', ({ committee }) => committee, 'num'],
          ['State', (attestation) => <AttestationState of={attestation} />],
        ]}
      />
      <p className="soft small">A missed attestation can still be included until the end of the next epoch.</p>
      {payloadVotes.length > 0 && <PayloadVotes votes={payloadVotes} />}
      {blocks.length > 0 && (
        <Table
          name="Proposed blocks of the previous and the current epoch"
          rows={blocks}
          columns={[
            ['Slot', ({ slot }) => slot, 'num'],
            ['Payload built by', ({ builder }) => (builder === null ? 'the validator' : `builder ${builder}`)],
            ['Payload', ({ payload }) => payloadLabels[payload]],
          ]}
        />
      )}
    </Card>
  )
}

const voteLabels: Readonly<Record<CurrentPayloadVote['state'], readonly [tone: string, label: string]>> = {
  included: ['good', 'on the chain'],
  due: ['', 'not yet'],
  missing: ['warn', 'not on the chain'],
  impossible: ['', 'cannot be on the chain'],
  unknown: ['', 'unknown'],
}

function PayloadVotes({ votes }: { readonly votes: readonly CurrentPayloadVote[] }) {
  return (
    <>
      <Table
        name="Votes in payload committees"
        rows={votes}
        columns={[
          ['Epoch', ({ epoch }) => epoch, 'num'],
          ['Slot', ({ slot }) => slot, 'num'],
          ['Time', ({ timestamp }) => formatTime(timestamp)],
          ['Due after', ({ timestamp, dueTimestamp }) => formatSeconds(timestamp, dueTimestamp), 'num'],
          ['Vote', ({ payloadSeen }) => (payloadSeen === null ? '–' : payloadSeen ? 'payload seen' : 'not seen')],
          ['State', ({ state }) => <span className={`badge ${voteLabels[state][0]}`}>{voteLabels[state][1]}</span>],
        ]}
      />
      <p className="soft small">Votes of payload committees are neither rewarded nor penalized.</p>
    </>
  )
}

function AttestationState({ of: { state, delay } }: { readonly of: CurrentAttestation }) {
  const [tone, label] = stateLabels[state]
  return (
    <>
      <span className={`badge ${tone}`}>{label}</span>
      {delay !== null && delay > 1 && ` after ${delay} slots`}
    </>
  )
}
