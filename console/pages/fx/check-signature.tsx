// The sign-doctor: a signature in, a verdict out, and if it is bad the field that is to blame.
import { useMutation } from '@tanstack/react-query'
import { type FormEvent, useEffect, useState } from 'react'
import type { Diagnosis } from '#api/wire/fx-extensions.ts'
import { formatTime, shortenHex } from '../../parts/format.ts'
import { Failure } from '../../parts/query-result.tsx'
import { useRoute } from '../../route.ts'
import { useConsoleContext } from '../../session.tsx'

export function CheckSignature({ id, signature: given }: { readonly id: string; readonly signature: string }) {
  const { client } = useConsoleContext()
  const place = useRoute()
  const [signature, setSignature] = useState(given)
  const [signer, setSigner] = useState(place.query.get('signer') ?? '')
  const check = useMutation({
    mutationFn: (result: { signature: string; signer: string }) =>
      client.fx.checkSignature({
        id,
        signature: result.signature,
        ...(result.signer !== '' && { signer: result.signer }),
      }),
  })
  const { mutate } = check
  // A signature that the wallet has just given is checked at once.
  const fresh = place.query.get('signer') ?? ''
  useEffect(() => {
    if (given === '') return
    setSignature(given)
    setSigner(fresh)
    mutate({ signature: given, signer: fresh })
  }, [given, fresh, mutate])
  const submit = (event: FormEvent) => {
    event.preventDefault()
    mutate({ signature: signature.trim(), signer: signer.trim() })
  }
  return (
    <section className="card" aria-labelledby="doctor">
      <h2 id="doctor">Check a signature</h2>
      <p className="soft">
        Says whether a signature over this quote is good, and if not, which field is to blame. It changes nothing.
      </p>
      <form onSubmit={submit}>
        <label className="field">
          Signature
          <textarea
            rows={3}
            value={signature}
            onChange={({ target }) => setSignature(target.value)}
            required
            placeholder="0x…"
            spellCheck={false}
          />
        </label>
        <div className="row gap-small">
          <label className="field wide">
            Who should have signed (address, if you know it)
            <input
              className="mono"
              value={signer}
              onChange={({ target }) => setSigner(target.value)}
              pattern="\s*0x[0-9a-fA-F]{40}\s*"
              title="0x and 40 hexadecimal digits"
            />
          </label>
          <button type="submit" className="main" disabled={check.isPending}>
            {check.isPending ? 'Checking…' : 'Check'}
          </button>
        </div>
      </form>
      <div aria-live="polite">
        {check.error && <Failure error={check.error} />}
        {check.data && <Verdict found={check.data} />}
      </div>
    </section>
  )
}

const verdicts = {
  good: 'The signature is good.',
  bad: 'The signature is not good.',
  unknown: 'It is over this quote if the signer below is the right one.',
} as const

function Verdict({ found }: { readonly found: Diagnosis }) {
  return (
    <div className={`note ${found.verdict === 'unknown' ? 'warn' : found.verdict}`}>
      <strong>{verdicts[found.verdict]}</strong>
      <dl className="facts">
        {found.signer !== null && (
          <>
            <dt>Signed by</dt>
            <dd className="mono">{found.signer}</dd>
          </>
        )}
        <dt>Digest</dt>
        <dd className="mono">{found.digest}</dd>
        <dt>Permit</dt>
        <dd>{found.deadlinePassed ? 'its deadline has passed' : `good until ${formatTime(found.deadline)}`}</dd>
        <dt>Quote</dt>
        <dd>{found.expired ? 'has expired' : 'still stands'}</dd>
      </dl>
      {found.findings.length > 0 && (
        <ul>
          {found.findings.map(({ field, message, expected, found: seen }) => (
            <li key={`${field} ${message}`}>
              <code>{field}</code> {message}
              {expected !== undefined && <>; the quote has {brief(expected)}</>}
              {seen !== undefined && <>, signed was {brief(seen)}</>}
            </li>
          ))}
        </ul>
      )}
      {found.chain.length > 0 && (
        <ul>
          {found.chain.map(({ name, ok, message }) => (
            <li key={name} className={ok ? 'good' : 'bad'}>
              {name}: {message}
            </li>
          ))}
        </ul>
      )}
    </div>
  )
}

const brief = (text: string) => <code title={text}>{text.startsWith('0x') ? shortenHex(text) : text}</code>
