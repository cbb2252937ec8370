import type { Metadata } from "next";
import type { ReactNode } from "react";

export const metadata: Metadata = { title: "Shop" };

export default function Layout({ children }: { readonly children: ReactNode }) {
  return (
    <html lang="en">
      <body>{children}</body>
    </html>
  );
}
