// Why the explorer has no answer, and what to do about it. Group A tells its failures in words only, so words are matched.
import { ExplorerError } from '#api/client.ts'
import { Failure } from '../../parts/query-result.tsx'
import { useChainName } from '../../parts/use-chains.ts'
import { hrefOf } from '../../route.ts'

interface ExplorerErrorProps {
  readonly error: unknown
  readonly chain: string
  /** Those that are served here, where known. */
  readonly chains: readonly string[] | undefined
}

export function ExplorerErrorNotice({ error, chain, chains }: ExplorerErrorProps) {
  const chainName = useChainName()
  if (error instanceof ExplorerError && /unsupported chainid/.test(error.result))
    return (
      <div role="alert" className="note warn">
        This server does not read {chainName(chain)}.{' '}
        {chains && chains.length > 0 ? (
          <>
            It reads{' '}
            {chains.map((id, index) => (
              <span key={id}>
                {index > 0 && ', '}
                <a href={hrefOf('explorer', [id])}>{chainName(id)}</a>
              </span>
            ))}
            .
          </>
        ) : (
          'It reads none yet.'
        )}{' '}
        <span className="soft">
          The operator adds chains under <code>explorer.chains</code> in <code>tetrad.yaml</code>.
        </span>
      </div>
    )
  const advice = error instanceof ExplorerError && adviceOf(error.result)
  return (
    <>
      <Failure error={error} />
      {advice && <p className="soft">{advice}</p>}
    </>
  )
}

/** For what the trail says at its end too. */
export function adviceOf(message: string): string {
  if (/been read/.test(message))
    return 'Nothing is guessed about blocks that were not read. The operator sees the holes on the Overview and fills them with: tetrad repair.'
  if (/old state|archive/.test(message))
    return 'With an archive node under explorer.chains, or mode: index, the answer can be found.'
  if (/internal transfers/.test(message))
    return 'A node that can trace transactions is needed; tetrad chains shows what each node can do.'
  if (/needs the \w+ plan/.test(message)) return 'Use a key of that plan, or ask the operator to raise this one’s.'
  return ''
}
