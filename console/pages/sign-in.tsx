// The target of a sign-in link: exchanges the token in the address for a session, and removes it from the history.
import { useEffect, useRef, useState } from 'preact/compat'
import { Busy, Failure } from '../parts/query-result.tsx'
import { SignInHelp } from '../parts/sign-in-help.tsx'
import { hrefOf, navigate, type PageProps } from '../route.ts'
import { useConsoleContext } from '../session.tsx'

export function SignIn({ route }: PageProps) {
  const { signIn, session } = useConsoleContext()
  const [error, setError] = useState<unknown>()
  const sent = useRef(false)
  const [token = ''] = route.parts
  useEffect(() => {
    // A token works once, but React may run this effect twice.
    if (sent.current || token === '') return
    sent.current = true
    signIn(token)
      .then(() => navigate(hrefOf('overview'), { replace: true }))
      .catch(setError)
  }, [signIn, token])
  // The link was used before, such as by this browser.
  const isNeedless = error !== undefined && session.signedIn
  useEffect(() => {
    if (isNeedless) navigate(hrefOf('overview'), { replace: true })
  }, [isNeedless])
  return (
    <>
      <h1>Sign in</h1>
      {error !== undefined ? (
        <Failure error={error} />
      ) : token !== '' ? (
        <Busy text="Signing in…" />
      ) : (
        <p className="note">
          The operator signs in with a one-time link. <SignInHelp />
        </p>
      )}
    </>
  )
}
