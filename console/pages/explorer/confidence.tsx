// How sure an answer is, in words: what the headers beside it say (behaviour/http.md#confidence-headers).
import type { ResponseMeta } from '#api/client.ts'

export function Confidence({ meta }: { readonly meta: ResponseMeta | undefined }) {
  if (!meta) return null
  const early = meta.finality === 'head'
  return (
    <>
      {meta.finality !== undefined && (
        <span className={`badge ${early ? 'warn' : 'good'}`}>{early ? 'not final yet' : 'final'}</span>
      )}{' '}
      <span className="soft">
        {early && 'A reorganisation of the chain may still take it back. '}
        {formatCoverage(meta.coverage)}
        {meta.asOf !== undefined && ` Rests on block ${meta.asOf}.`}
      </span>
    </>
  )
}

function formatCoverage(coverage: string | undefined): string {
  if (coverage === undefined) return ''
  if (coverage === 'complete') return 'Every final block of the chain has been read.'
  if (coverage === 'probed') return 'Found by searching an archive node.'
  return `Blocks read so far: ${coverage}.`
}
