// The duties of a validator in the previous, the current and the next epoch, which are not final. Nothing is shown if the
// server does not know them.
import type { Network } from '#api/wire/validators.ts'
import type { CurrentAttestation } from '#api/wire/validators-duties.ts'
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

export function CurrentDuties({ index, network }: { readonly index: number; readonly network: Network }) {
  const { data } = useEndpoint('validators.duties', { validator_index_or_pubkey: index, network }, { refreshMs })
  if (!data || data.reply.headSlot === null) return null
  const { epoch, headSlot, attestations, proposals, inSyncCommittee } = data.reply
  const [next] = proposals
  return (
    <Card id="current-duties" title="Current duties" aside={<span className="badge warn">not final</span>}>
      <Facts
        of={{
          'Current epoch': `${epoch}, newest block in slot ${headSlot}`,
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
          ['Committee', ({ committee }) => committee, 'num'],
          ['State', (attestation) => <AttestationState of={attestation} />],
        ]}
      />
      <p className="soft small">A missed attestation can still be included until the end of the next epoch.</p>
    </Card>
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
