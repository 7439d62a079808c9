// Checks a signature of a quote. If it is not valid, shows which field differs.
import { useMutation } from '@tanstack/preact-query'
import { useEffect, useState } from 'preact/compat'
import type { SignatureDiagnosis } from '#api/contract/wire/fx-signature-check.ts'
import { Card } from '../../parts/card.tsx'
import { Form, Submit, TextField } from '../../parts/controls.tsx'
import { Facts, Mono } from '../../parts/facts.tsx'
import { formatTime, shortenHex } from '../../parts/format.ts'
import { Failure } from '../../parts/query-result.tsx'
import { useRoute } from '../../route.ts'
import { useConsoleContext } from '../../session.tsx'

export function CheckSignature({ id }: { readonly id: string }) {
  const { client } = useConsoleContext()
  const { query } = useRoute()
  const signatureInAddress = query.get('signature') ?? ''
  const signerInAddress = query.get('signer') ?? ''
  const [signature, setSignature] = useState(signatureInAddress)
  const [signer, setSigner] = useState(signerInAddress)
  const check = useMutation({
    mutationFn: ({ signature, signer }: { signature: string; signer: string }) =>
      client.fx.checkSignature({ id, signature, ...(signer !== '' && { signer }) }),
  })
  const { mutate } = check
  // The wallet's signature arrives in the address and is checked immediately.
  useEffect(() => {
    if (signatureInAddress === '') return
    setSignature(signatureInAddress)
    setSigner(signerInAddress)
    mutate({ signature: signatureInAddress, signer: signerInAddress })
  }, [signatureInAddress, signerInAddress, mutate])
  return (
    <Card id="check-signature" title="Check a signature">
      <p className="soft">
        Checks whether a signature is valid for this quote, and if not, which field differs. Nothing is submitted.
      </p>
      <Form onSubmit={() => mutate({ signature: signature.trim(), signer: signer.trim() })}>
        <label className="field">
          Signature
          <textarea
            rows={3}
            value={signature}
            onChange={({ currentTarget }) => setSignature(currentTarget.value)}
            required
            placeholder="0x…"
            spellcheck={false}
          />
        </label>
        <div className="row spaced">
          <TextField
            isWide
            label="Expected signer (optional address)"
            className="mono"
            value={signer}
            onText={setSigner}
            pattern="\s*0x[0-9a-fA-F]{40}\s*"
            title="0x followed by 40 hexadecimal digits"
          />
          <Submit isMain={false} disabled={check.isPending}>
            {check.isPending ? 'Checking…' : 'Check'}
          </Submit>
        </div>
      </Form>
      <div aria-live="polite">
        {check.error && <Failure error={check.error} />}
        {check.data && <Verdict diagnosis={check.data} />}
      </div>
    </Card>
  )
}

const verdicts = {
  good: 'The signature is valid.',
  bad: 'The signature is not valid.',
  unknown: 'The signature is valid if the signer below is the one you expect.',
} as const

function Verdict({ diagnosis }: { readonly diagnosis: SignatureDiagnosis }) {
  return (
    <div className={`note ${diagnosis.verdict === 'unknown' ? 'warn' : diagnosis.verdict}`}>
      <strong>{verdicts[diagnosis.verdict]}</strong>
      <Facts
        of={{
          'Signed by': diagnosis.signer !== null && <Mono text={diagnosis.signer} />,
          Digest: <Mono text={diagnosis.digest} />,
          Permit: diagnosis.deadlinePassed ? 'deadline has passed' : `valid until ${formatTime(diagnosis.deadline)}`,
          Quote: diagnosis.expired ? 'expired' : 'not expired',
        }}
      />
      {diagnosis.findings.length > 0 && (
        <ul>
          {diagnosis.findings.map(({ field, message, expected, found }) => (
            <li key={`${field} ${message}`}>
              <code>{field}</code> {message}
              {expected !== undefined && <>. Expected: {shortened(expected)}</>}
              {found !== undefined && <>. Signed: {shortened(found)}</>}
            </li>
          ))}
        </ul>
      )}
      {diagnosis.chain.length > 0 && (
        <ul>
          {diagnosis.chain.map(({ name, ok, message }) => (
            <li key={name} className={ok ? 'good' : 'bad'}>
              {name}: {message}
            </li>
          ))}
        </ul>
      )}
    </div>
  )
}

const shortened = (text: string) => <code title={text}>{text.startsWith('0x') ? shortenHex(text) : text}</code>
