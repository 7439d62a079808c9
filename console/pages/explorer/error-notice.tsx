// An error of the explorer and what to do about it. Group A has no error codes, so the messages are matched.
import { ExplorerError } from '#api/client/client.ts'
import { Links } from '../../parts/links.tsx'
import { Failure } from '../../parts/query-result.tsx'
import { useChainName, useChains } from '../../parts/use-chains.ts'
import { hrefOf } from '../../route.ts'

export function ExplorerErrorNotice({ error, chain }: { readonly error: unknown; readonly chain: string }) {
  const chainName = useChainName()
  const chains = useChains()
  if (error instanceof ExplorerError && /unsupported chainid/.test(error.result))
    return (
      <div role="alert" className="note warn">
        This server does not support {chainName(chain)}.{' '}
        {chains && chains.length > 0 ? (
          <>
            Supported: <Links of={chains.map((id) => ({ label: chainName(id), href: hrefOf('explorer', [id]) }))} />.
          </>
        ) : (
          'No chains are configured yet.'
        )}{' '}
        <span className="soft">
          To add a chain, configure it in <code>tetrad.yaml</code> under <code>explorer.chains</code>.
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

/** Also for the message at the end of a trail. */
export function adviceOf(message: string): string {
  if (/been read|not indexed/.test(message))
    return 'The overview shows which blocks are missing. If reading does not continue, the operator can run: tetrad repair.'
  if (/old state|archive/.test(message))
    return 'The operator can add an archive node under explorer.chains, or set mode: index.'
  if (/internal transfers|trace/.test(message))
    return 'The operator can add a node that supports traces. tetrad chains shows what each node supports.'
  if (/needs the \w+ plan/.test(message))
    return 'Use a key with that plan, or ask the operator to change the plan of this key.'
  return ''
}
