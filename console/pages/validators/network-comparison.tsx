// How a validator compares with its network in the period of the page.
import type { Network } from '#api/contract/wire/validators.ts'
import { Card } from '../../parts/card.tsx'
import { gwei } from '../../parts/format.ts'
import { QueryResult } from '../../parts/query-result.tsx'
import { formatRating } from '../../parts/rating.tsx'
import { percentile } from './entities.tsx'
import { Figures, RatedFigure } from './figures.tsx'
import { none, share } from './format-figures.ts'
import { type MemberBatch, useDailyFigures, useRatedMembers } from './rated-members.ts'
import { periodOf, type ValidatorsView } from './view.ts'

interface NetworkComparisonProps {
  readonly index: number
  readonly view: ValidatorsView
}

export function NetworkComparison({ index, view }: NetworkComparisonProps) {
  const ratings = useRatedMembers(view.network, { index }, periodOf(view), undefined)
  return (
    <QueryResult of={ratings}>
      {(batch) => batch.days && <ComparedFigures index={index} network={view.network} batch={batch} />}
    </QueryResult>
  )
}

interface ComparedFiguresProps {
  readonly index: number
  readonly network: Network
  readonly batch: MemberBatch
}

function ComparedFigures({ index, network, batch }: ComparedFiguresProps) {
  const daily = useDailyFigures(network, [index], batch)
  const [member] = batch.members
  const whole = batch.network
  const days = whole.history.filter((score) => score !== null).length
  const mean = whole.earningsPerDay === null ? none : gwei(Math.round(whole.earningsPerDay * days), 5)
  return (
    <Card id="in-network" title="Compared with the network">
      <p className="small soft">The last {days} chain days that are over.</p>
      <Figures
        of={{
          Percentile: [
            percentile(daily.data?.get(index)?.percentile),
            'percent of the network’s validators are less effective; 50 is average',
          ],
          Effectiveness: [
            <RatedFigure key="rated" value={member?.effectiveness} />,
            `network: ${formatRating(whole.validatorEffectiveness)}`,
          ],
          Uptime: [share(member?.uptime), `network: ${share(whole.uptime)}`],
          Earnings: [member?.earnings == null ? none : gwei(member.earnings, 5), `network: ${mean} per validator`],
        }}
      />
    </Card>
  )
}
