/** Entry point of the page. */
import "@/theme/page.css";
import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { RouterProvider } from "@tanstack/react-router";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { ApiError } from "@/api/client";
import { listenForKeys } from "@/keys/useCommand";
import { AuthGate } from "@/pages/AuthGate";
import { signIn } from "@/pages/signIn";
import { router } from "@/routes";
import { keepTheme } from "@/theme/theme";
import { Toasts } from "@/ui/Toasts";
import { TooltipHost } from "@/ui/TooltipHost";

const queries = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: 10_000,
      refetchOnWindowFocus: false, // the stream reports changes
      retry: (times, error) =>
        times < 2 && !(error instanceof ApiError && error.status > 0 && error.status < 500),
    },
  },
});

keepTheme();
listenForKeys();
void signIn();

const root = document.getElementById("page");
if (root) {
  createRoot(root).render(
    <StrictMode>
      <QueryClientProvider client={queries}>
        <AuthGate>
          <RouterProvider router={router} />
        </AuthGate>
        <Toasts />
        <TooltipHost />
      </QueryClientProvider>
    </StrictMode>,
  );
}
