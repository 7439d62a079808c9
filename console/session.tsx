// What the visitor may do: the key that the pages call with, and whether the operator is signed in. A pasted key stays
// in this tab until it is closed; the operator's own is made by the server and ends with the session.
import { createContext, type ReactNode, useCallback, useContext, useEffect, useMemo, useRef, useState } from 'react'
import { type Client, createClient } from '#api/client.ts'
import type { ConsoleSession } from '#api/console.ts'
import type { Group } from '#api/routes.ts'
import { refusedEvent, withRefusalNotice } from './http.ts'
import { OperatorError, operator } from './operator.ts'

type Session = Pick<ConsoleSession, 'signedIn' | 'expiresAt'> & Partial<Pick<ConsoleSession, 'groups' | 'chains'>>

export interface ConsoleContext {
  readonly key: string
  readonly client: Client
  readonly session: Session
  /** False until the server has said who we are. */
  readonly known: boolean
  /** The session ended, and not from here. */
  readonly ended: boolean
  setKey(key: string): void
  signIn(token: string): Promise<void>
  signOut(): Promise<void>
}

const keyStorageKey = 'tetrad-key'
const Context = createContext<ConsoleContext | undefined>(undefined)

export function useConsoleContext(): ConsoleContext {
  const context = useContext(Context)
  if (!context) throw new Error('usePass outside PassProvider')
  return context
}

/** An interface may live under a host name of its own, at the same port. */
function basesOf({ groups = {} as ConsoleSession['groups'] }: Session): Partial<Record<Group, string>> {
  const { protocol, port } = window.location
  const own = Object.entries(groups).filter(([, { host }]) => host !== '')
  return Object.fromEntries(own.map(([group, { host }]) => [group, `${protocol}//${host}${port && `:${port}`}`]))
}

/** Empty where the session's key was revoked: the operator's side goes on without one. */
async function ownKey(): Promise<string> {
  try {
    return (await operator.ownKey()).key
  } catch (error) {
    if (error instanceof OperatorError && error.code === 'console.key') return ''
    throw error
  }
}

/** The server made it for the session; a pasted one is the visitor's. */
const isOwn = (key: string | null): boolean => key?.split(':')[1]?.startsWith('console-') ?? false

/** A refusal may have any reason; the server says whether the session's end is it. */
function useSessionEnd(signedIn: boolean, end: (found: Session) => void): void {
  const onEnd = useRef(end)
  onEnd.current = end
  useEffect(() => {
    if (!signedIn) return
    let [isChecking, over] = [false, false]
    const check = async () => {
      if (isChecking) return
      isChecking = true
      const found = await operator.session().catch(() => undefined)
      isChecking = false
      // An answer that comes after the next sign-in is about the session before it.
      if (found && !found.signedIn && !over) onEnd.current(found)
    }
    const onRefused = () => void check()
    window.addEventListener(refusedEvent, onRefused)
    return () => {
      over = true
      window.removeEventListener(refusedEvent, onRefused)
    }
  }, [signedIn])
}

export function ConsoleContextProvider({ children }: { readonly children: ReactNode }) {
  const [key, setKey] = useState(() => sessionStorage.getItem(keyStorageKey) ?? '')
  const [session, setSession] = useState<Session>({ signedIn: false })
  const [known, setKnown] = useState(false)
  const [ended, setEnded] = useState(false)

  const takeKey = useCallback((given: string) => {
    if (given === '') sessionStorage.removeItem(keyStorageKey)
    else sessionStorage.setItem(keyStorageKey, given)
    setKey(given)
  }, [])

  const settle = useCallback(
    async (found: Session) => {
      if (found.signedIn && !sessionStorage.getItem(keyStorageKey)) takeKey(await ownKey())
      if (found.signedIn) setEnded(false)
      setSession(found)
    },
    [takeKey],
  )

  useEffect(() => {
    operator
      .session()
      .then(settle)
      // A server whose console has no operator's side still has its pages.
      .catch(() => {})
      .finally(() => setKnown(true))
  }, [settle])

  useSessionEnd(session.signedIn, (found) => {
    if (isOwn(sessionStorage.getItem(keyStorageKey))) takeKey('')
    setSession(found)
    setEnded(true)
  })

  const context = useMemo<ConsoleContext>(
    () => ({
      key,
      client: createClient({
        baseUrl: window.location.origin,
        baseUrls: basesOf(session),
        ...(key !== '' && { key }),
        retries: 1,
        fetch: withRefusalNotice((...request) => fetch(...request)),
      }),
      session,
      known,
      ended,
      setKey: takeKey,
      async signIn(token) {
        const found = await operator.signIn(token)
        takeKey('')
        await settle(found)
      },
      async signOut() {
        const found = await operator.signOut()
        takeKey('')
        setSession(found)
      },
    }),
    [key, session, known, ended, takeKey, settle],
  )
  return <Context value={context}>{children}</Context>
}
