// The confidence headers of a response as text (behaviour/http.md#confidence-headers).
import type { ResponseMeta } from '#api/client/client.ts'

export function Confidence({ meta }: { readonly meta: ResponseMeta | undefined }) {
  if (!meta) return null
  const isUnfinalized = meta.finality === 'head'
  return (
    <>
      {meta.finality !== undefined && (
        <span className={`badge status ${isUnfinalized ? 'warn' : 'good'}`}>
          {isUnfinalized ? 'not finalized' : 'finalized'}
        </span>
      )}{' '}
      <span className="soft">
        {isUnfinalized && 'A chain reorganization can still change this. '}
        {formatCoverage(meta.coverage)}
        {meta.asOf !== undefined && ` As of block ${meta.asOf}.`}
      </span>
    </>
  )
}

function formatCoverage(coverage: string | undefined): string {
  if (coverage === undefined) return ''
  if (coverage === 'complete') return 'All finalized blocks of the chain have been read.'
  if (coverage === 'probed') return 'Found by searching an archive node.'
  return `Blocks read so far: ${coverage}.`
}
